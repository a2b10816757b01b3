// Scores of many strings by the weighted degree features, position by position.
//
// At position p a string has one feature a length k, and its share of the score is
//
//     T_p(word) = sum_k value_k w[k, p, first k letters of the word]
//
// For words of m letters that sum is a table of A^m numbers, made once for all strings. It stays in
// a second-level cache, where single strings would read all over w. Longer substrings are looked
// up. Sums go in the same order whatever m is.
#include <algorithm>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "rows/features.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kTablePositions = 8;     // tables made at a time
constexpr std::size_t kMostTable = 1u << 17;   // numbers of a table
constexpr std::size_t kChunkRows = 1u << 15;   // strings scored with the same tables
constexpr std::size_t kRowsPerTask = 1u << 9;  // whose letters and scores stay in a cache, too

}  // namespace

// T_p of all words of `depth` letters: each level from the one before, from its end to its start,
// so that one array will do.
void WeightedDegree::fill_table(const double* w, std::size_t position, std::size_t depth,
                                double* table) const {
  table[0] = 0;
  for (std::size_t k = 0; k < depth; ++k) {
    const double* level = w + offset_[k] + position * size_[k];
    for (std::size_t word = size_[k] / letters_; word-- > 0;) {
      const double sum = table[word];
      for (std::size_t letter = letters_; letter-- > 0;)
        table[word * letters_ + letter] = sum + value_[k] * level[word * letters_ + letter];
    }
  }
}

void WeightedDegree::score_chunk(const std::uint8_t* const* texts, std::size_t n, const double* w,
                                 double* scores, Pool& pool) const {
  // a table costs about as much as a look at each of its numbers
  std::size_t depth = 0;
  while (depth < degree_ && size_[depth] <= std::min(2 * n, kMostTable)) ++depth;
  const std::size_t table_size = depth > 0 ? size_[depth - 1] : 1;
  std::vector<double> tables(kTablePositions * table_size);
  std::vector<std::size_t> words(n);  // by row: the letters at a position that the table covers
  const std::size_t parts = pieces(n, kRowsPerTask);
  for (std::size_t first = 0; first < length_; first += kTablePositions) {
    const std::size_t last = std::min(first + kTablePositions, length_);
    pool.run(last - first, [&](std::size_t t) {
      fill_table(w, first + t, std::min(depth, length_ - first - t), &tables[t * table_size]);
    });
    pool.run(parts, [&](std::size_t part) {
      const Range range = part_of(n, parts, part);
      for (std::size_t p = first; p < last; ++p) {
        const std::size_t most = std::min(degree_, length_ - p), in_table = std::min(depth, most);
        const double* table = &tables[(p - first) * table_size];
        const std::size_t letters = letters_,
                          leading = in_table > 0 ? size_[in_table - 1] / letters : 0;
        const bool rolls = p > 0 && in_table == depth && depth > 0;
        for (std::size_t r = range.begin; r < range.end; ++r) {
          const std::uint8_t* text = texts[r] + p;
          const auto code = [&](std::size_t k) {
            return static_cast<std::size_t>(code_of_[text[k]]);
          };
          std::size_t word = 0;
          if (rolls)  // the word before this one, without its first letter
            word = (words[r] - leading * static_cast<std::size_t>(code_of_[text[-1]])) * letters +
                   code(in_table - 1);
          else
            for (std::size_t k = 0; k < in_table; ++k) word = word * letters + code(k);
          words[r] = word;
          double sum = table[word];
          for (std::size_t k = in_table; k < most; ++k) {
            word = word * letters + code(k);
            sum += value_[k] * w[offset_[k] + p * size_[k] + word];
          }
          scores[r] += sum;
        }
      }
    });
  }
}

void WeightedDegree::score(const std::uint8_t* letters, const std::int64_t* starts, std::size_t n,
                           const double* w, double* scores, Pool& pool) const {
  check(bits_ == 0, "hashed features have no places by position");
  for (std::size_t begin = 0; begin < n; begin += kChunkRows) {
    const std::size_t count = std::min(kChunkRows, n - begin), parts = pieces(count, kRowsPerTask);
    std::vector<const std::uint8_t*> texts(count);
    pool.run(parts, [&](std::size_t part) {
      const Range range = part_of(count, parts, part);
      for (std::size_t r = range.begin; r < range.end; ++r) {
        const std::int64_t from = starts[begin + r], to = starts[begin + r + 1];
        texts[r] = letters + from;
        check_text(texts[r], static_cast<std::size_t>(to - from),
                   "row " + std::to_string(begin + r));
        scores[begin + r] = 0;
      }
    });
    score_chunk(texts.data(), count, w, scores + begin, pool);
  }
}

}  // namespace maxmargin
