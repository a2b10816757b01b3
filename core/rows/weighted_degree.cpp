// Products of many strings with weighted degree features, position by position.
//
// At position p a string has one feature a length k, and its share of the score is
//
//     T_p(word) = sum_k value_k w[k, p, first k letters of the word]
//
// For words of m letters that sum is a table of A^m numbers, made once for all strings. It stays in
// a second-level cache, where single strings would read all over w. Longer substrings are looked
// up. Sums go in the same order whatever m is. Strings with letters that are not in the alphabet
// are scored one by one.
//
// The other product goes the way back: at each position numbers are added up by words of m letters,
// and the sums of longer words are those of shorter ones.
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

bool WeightedDegree::has_unknown(const std::uint8_t* text) const {
  return std::any_of(text, text + length_,
                     [&](std::uint8_t letter) { return code_of_[letter] < 0; });
}

double WeightedDegree::score_letters(const std::uint8_t* text, const double* w) const {
  double sum = 0;
  for (std::size_t p = 0; p < length_; ++p) {
    const std::size_t most = std::min(degree_, length_ - p);
    std::size_t word = 0;
    for (std::size_t k = 0; k < most && code_of_[text[p + k]] >= 0; ++k) {
      word = word * letters_ + static_cast<std::size_t>(code_of_[text[p + k]]);
      sum += value_[k] * w[offset_[k] + p * size_[k] + word];
    }
  }
  return sum;
}

void WeightedDegree::score(const std::uint8_t* letters, const std::int64_t* starts, std::size_t n,
                           const double* w, double* scores, Pool& pool) const {
  check(bits_ == 0, "hashed features have no places by position");
  for (std::size_t begin = 0; begin < n; begin += kChunkRows) {
    const std::size_t count = std::min(kChunkRows, n - begin), parts = pieces(count, kRowsPerTask);
    std::vector<char> apart(count);
    pool.run(parts, [&](std::size_t part) {
      const Range range = part_of(count, parts, part);
      for (std::size_t r = range.begin; r < range.end; ++r) {
        const std::int64_t from = starts[begin + r], to = starts[begin + r + 1];
        check_length(static_cast<std::size_t>(to - from), "row " + std::to_string(begin + r));
        apart[r] = has_unknown(letters + from);
        if (apart[r]) scores[begin + r] = score_letters(letters + from, w);
      }
    });
    std::vector<const std::uint8_t*> texts;
    for (std::size_t r = 0; r < count; ++r)
      if (!apart[r]) texts.push_back(letters + starts[begin + r]);
    std::vector<double> sums(texts.size());
    score_chunk(texts.data(), texts.size(), w, sums.data(), pool);
    for (std::size_t r = 0, next = 0; r < count; ++r)
      if (!apart[r]) scores[begin + r] = sums[next++];
  }
}

// What the strings add to the features of one position; `table` has room for the words of `depth`
// letters.
void WeightedDegree::add_at(const std::uint8_t* const* texts, std::size_t n, const double* v,
                            std::size_t position, std::size_t depth, std::vector<double>& table,
                            double* a) const {
  const std::size_t most = std::min(degree_, length_ - position), in_table = std::min(depth, most);
  std::vector<std::size_t> first(in_table + 1);  // of the words of 0 .. in_table letters
  for (std::size_t k = 0, next = 0; k <= in_table; ++k) {
    first[k] = next;
    next += k == 0 ? 1 : size_[k - 1];
  }
  std::fill(table.begin(), table.end(), 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    if (v[r] == 0) continue;
    const std::uint8_t* text = texts[r] + position;
    std::size_t word = 0, known = 0;
    for (; known < most && code_of_[text[known]] >= 0; ++known) {
      word = word * letters_ + static_cast<std::size_t>(code_of_[text[known]]);
      if (known >= in_table)
        a[offset_[known] + position * size_[known] + word] += value_[known] * v[r];
      if (known + 1 == in_table) table[first[in_table] + word] += v[r];
    }
    if (known < in_table) table[first[known] + word] += v[r];
  }
  for (std::size_t k = in_table; k-- > 0;) {
    double* level = a + offset_[k] + position * size_[k];
    for (std::size_t word = 0; word < size_[k]; ++word) {
      const double sum = table[first[k + 1] + word];
      if (sum == 0) continue;
      level[word] += value_[k] * sum;
      table[first[k] + word / letters_] += sum;
    }
  }
}

void WeightedDegree::add(const std::uint8_t* letters, const std::int64_t* starts, std::size_t n,
                         const double* v, double* a, Pool& pool) const {
  check(bits_ == 0, "hashed features have no places by position");
  std::size_t depth = 0, room = 1;
  while (depth < degree_ && size_[depth] <= std::min(2 * n, kMostTable)) room += size_[depth++];
  std::vector<const std::uint8_t*> texts(n);
  for (std::size_t r = 0; r < n; ++r) {
    check_length(static_cast<std::size_t>(starts[r + 1] - starts[r]), "row " + std::to_string(r));
    texts[r] = letters + starts[r];
  }
  pool.run(length_, [&](std::size_t position) {
    std::vector<double> table(room);
    add_at(texts.data(), n, v, position, depth, table, a);
  });
}

}  // namespace maxmargin
