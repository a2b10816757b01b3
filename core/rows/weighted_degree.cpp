// Products of many strings with weighted degree features, position by position.
//
// At position p a string has one feature a length k, and its share of the score is
//
//     T_p(word) = sum_k value_k w[k, p, first k letters of the word]
//
// For words of m letters that sum is a table of A^m numbers, made once for all strings. It stays in
// a second-level cache, where single strings would read all over w. Longer substrings are looked
// up. A thread takes a group of positions, for which it writes down the letters by position. Sums
// go in the same order whatever m is and however many strings there are. Strings with letters that
// are not in the alphabet are scored one by one.
//
// The other product goes the way back: at each position numbers are added up by words of m letters,
// and the sums of longer words are those of shorter ones.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "rows/features.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kGroup = 16;             // positions of a task, at least
constexpr std::size_t kMostTable = 1u << 17;   // numbers of a table
constexpr std::size_t kReadInOrder = 16;       // numbers of w, in the time of a look anywhere in it
constexpr std::size_t kChunkRows = 1u << 15;   // strings scored with the same tables
constexpr std::size_t kRowsPerTask = 1u << 9;  // whose letters are looked at
constexpr std::size_t kFewLetters = 1u << 16;  // read before a second thread has started

// The table of words that are a letter longer. DNA has four of them, which fill a register.
MAXMARGIN_CLONES void add_level(const double* shorter, const double* level, double value,
                                std::size_t words, std::size_t letters, double* longer) {
  if (letters == 4) {
    for (std::size_t word = 0; word < words; ++word)
      for (std::size_t letter = 0; letter < 4; ++letter)
        longer[4 * word + letter] = shorter[word] + value * level[4 * word + letter];
    return;
  }
  for (std::size_t word = 0; word < words; ++word)
    for (std::size_t letter = 0; letter < letters; ++letter)
      longer[word * letters + letter] = shorter[word] + value * level[word * letters + letter];
}

// Each word without its first letter and with one more; `leading` is the place value of the first.
MAXMARGIN_CLONES void roll_words(std::uint32_t* words, const std::uint8_t* left,
                                 const std::uint8_t* entered, std::size_t n, std::uint32_t letters,
                                 std::uint32_t leading) {
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r)
    words[r] = (words[r] - leading * left[r]) * letters + entered[r];
}

MAXMARGIN_CLONES void add_from_table(const double* table, const std::uint32_t* words, std::size_t n,
                                     double* sums) {
#pragma omp simd
  for (std::size_t r = 0; r < n; ++r) sums[r] += table[words[r]];
}

// What is looked up in w for words longer than those of the table, of one length after the other.
struct Longer {
  const double* const* levels;
  const double* values;
  std::size_t count;
};

// The same with longer words, whose letters are codes[0], codes[n], ... of the first string.
MAXMARGIN_CLONES void add_longer(const double* table, const std::uint32_t* words,
                                 const std::uint8_t* codes, std::size_t n, std::size_t letters,
                                 const Longer& longer, double* sums) {
  for (std::size_t r = 0; r < n; ++r) {
    std::size_t word = words[r];
    double sum = table[word];
    for (std::size_t k = 0; k < longer.count; ++k) {
      word = word * letters + codes[k * n + r];
      sum += longer.values[k] * longer.levels[k][word];
    }
    sums[r] += sum;
  }
}

}  // namespace

// T_p of all words of `depth` letters, from two arrays with room for them; in one of these.
const double* WeightedDegree::fill_table(const double* w, std::size_t position, std::size_t depth,
                                         double* room, double* other) const {
  room[0] = 0;
  for (std::size_t k = 0; k < depth; ++k) {
    add_level(room, w + offset_[k] + position * size_[k], value_[k], size_[k] / letters_, letters_,
              other);
    std::swap(room, other);
  }
  return room;
}

// The letters of the strings as numbers, position by position.
std::vector<std::uint8_t> WeightedDegree::codes_by_position(const std::uint8_t* const* texts,
                                                            std::size_t n, Range positions) const {
  constexpr std::size_t line = 64;  // strings whose letters at a position fill a cache line
  const std::size_t count = positions.end - positions.begin;
  std::vector<std::uint8_t> codes(count * n);
  for (std::size_t first = 0; first < n; first += line)
    for (std::size_t r = first; r < std::min(first + line, n); ++r) {
      const std::uint8_t* text = texts[r] + positions.begin;
      for (std::size_t p = 0; p < count; ++p)
        codes[p * n + r] = static_cast<std::uint8_t>(code_of_[text[p]]);
    }
  return codes;
}

void WeightedDegree::score_group(const std::uint8_t* const* texts, std::size_t n, const double* w,
                                 Range positions, std::size_t depth, double* sums) const {
  const std::vector<std::uint8_t> codes =
      codes_by_position(texts, n, {positions.begin, std::min(positions.end + degree_, length_)});
  const std::size_t room = depth > 0 ? size_[depth - 1] : 1;
  std::vector<double> tables(2 * room);
  std::vector<std::uint32_t> words(n);  // by row: the letters at a position that the table covers
  std::vector<const double*> levels(degree_);
  const auto letters = static_cast<std::uint32_t>(letters_);
  for (std::size_t p = positions.begin; p < positions.end; ++p) {
    const std::size_t most = std::min(degree_, length_ - p), in_table = std::min(depth, most);
    const double* table = fill_table(w, p, in_table, tables.data(), tables.data() + room);
    const std::uint8_t* at = codes.data() + (p - positions.begin) * n;
    if (p > positions.begin && in_table == depth && depth > 0) {
      roll_words(words.data(), at - n, at + (depth - 1) * n, n, letters,
                 static_cast<std::uint32_t>(room / letters_));
    } else {
      std::fill(words.begin(), words.end(), 0);
      for (std::size_t k = 0; k < in_table; ++k)
        for (std::size_t r = 0; r < n; ++r) words[r] = words[r] * letters + at[k * n + r];
    }
    if (in_table == most) {
      add_from_table(table, words.data(), n, sums);
      continue;
    }
    for (std::size_t k = in_table; k < most; ++k) levels[k] = w + offset_[k] + p * size_[k];
    add_longer(table, words.data(), at + in_table * n, n, letters_,
               Longer{&levels[in_table], &value_[in_table], most - in_table}, sums);
  }
}

void WeightedDegree::score_chunk(const std::uint8_t* const* texts, std::size_t n, const double* w,
                                 double* scores, Pool& pool) const {
  std::size_t depth = 0;
  while (depth < degree_ && size_[depth] <= std::min(kReadInOrder * n, kMostTable)) ++depth;
  const std::size_t groups = pieces(length_, kGroup);
  std::vector<double> sums(groups * n);
  const auto score_one = [&](std::size_t group) {
    score_group(texts, n, w, part_of(length_, groups, group), depth, &sums[group * n]);
  };
  if (n * length_ <= kFewLetters)
    for (std::size_t group = 0; group < groups; ++group) score_one(group);
  else
    pool.run(groups, score_one);
  for (std::size_t group = 0; group < groups; ++group)
    for (std::size_t r = 0; r < n; ++r) scores[r] += sums[group * n + r];
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
