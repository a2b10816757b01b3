#include "rows/features.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace maxmargin {

namespace {

// A bijection of 64 bits that spreads neighbours (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// A hashed feature: place by the low bits, sign by the highest.
void emit(std::uint64_t key, double value, int bits, Expanded& out) {
  const std::uint64_t h = mixed(key);
  out.indices.push_back(static_cast<std::uint32_t>(h & ((std::uint64_t{1} << bits) - 1)));
  out.values.push_back((h >> 63) != 0 ? -value : value);
}

// Adds up what fell into one place, in increasing order of places.
void merge(Expanded& out) {
  const std::size_t count = out.indices.size();
  std::vector<std::pair<std::uint32_t, double>> sorted(count);
  for (std::size_t q = 0; q < count; ++q) sorted[q] = {out.indices[q], out.values[q]};
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  out.clear();
  for (const auto& [index, value] : sorted) {
    if (!out.indices.empty() && out.indices.back() == index) {
      out.values.back() += value;
    } else {
      out.indices.push_back(index);
      out.values.push_back(value);
    }
  }
}

void to_length_one(Expanded& out) {
  double squared = 0;
  for (const double value : out.values) squared += value * value;
  if (squared == 0) return;
  const double scale = 1 / std::sqrt(squared);
  for (double& value : out.values) value *= scale;
}

std::string named(const PackedRow& row) { return "row " + std::to_string(row.id); }

}  // namespace

// ---------------------------------------------------------------- weighted degree

double WeightedDegree::dimensions(std::size_t letters, std::size_t length, std::size_t degree) {
  double sum = 0;
  for (std::size_t k = 1; k <= degree; ++k)
    sum += static_cast<double>(length - k + 1) *
           std::pow(static_cast<double>(letters), static_cast<double>(k));
  return sum;
}

WeightedDegree::WeightedDegree(const std::uint8_t* alphabet, std::size_t letters,
                               std::size_t length, std::size_t degree, int bits)
    : letters_(letters), length_(length), degree_(degree), bits_(bits) {
  check(letters >= 1 && letters <= 256, "an alphabet has 1 to 256 letters");
  check(degree >= 1 && degree <= length, "the degree must be between 1 and the length of strings");
  check(std::pow(static_cast<double>(letters), static_cast<double>(degree)) < 9e18,
        "too many substrings of this degree: take a lower degree");
  check(bits > 0 || dimensions(letters, length, degree) < 4294967294.0,
        "too many features for places of their own: hash them");
  code_of_.fill(-1);
  for (std::size_t a = 0; a < letters; ++a) code_of_[alphabet[a]] = static_cast<std::int16_t>(a);
  const double K = static_cast<double>(degree);
  double squared = 0;
  std::uint64_t next = 0, size = 1;
  for (std::size_t k = 1; k <= degree; ++k) {
    const double beta = 2 * (K - static_cast<double>(k) + 1) / (K * (K + 1));
    size *= letters;
    offset_.push_back(next);
    size_.push_back(size);
    value_.push_back(std::sqrt(beta));
    squared += beta * static_cast<double>(length - k + 1);
    next += size * (length - k + 1);
  }
  for (double& value : value_) value /= std::sqrt(squared);
  d_ = bits > 0 ? std::size_t{1} << bits : next;
}

void WeightedDegree::check_text(const std::uint8_t* text, std::size_t count,
                                const std::string& name) const {
  if (count != length_)
    throw InvalidInput(name + " is a string of " + std::to_string(count) + " letters; expected " +
                       std::to_string(length_) + ", as in the rows before");
  for (std::size_t p = 0; p < length_; ++p)
    if (code_of_[text[p]] < 0)
      throw InvalidInput(name + " has the letter '" + std::string(1, char(text[p])) + "' (byte " +
                         std::to_string(text[p]) + ") at position " + std::to_string(p) +
                         ", which is not in the alphabet: name all letters "
                         "with alphabet=..., or remove such rows");
}

void WeightedDegree::expand(Form form, const PackedRow& row, Expanded& out) const {
  check(form == Form::text, "the weighted degree kernel is for strings, and these are numbers");
  const std::uint8_t* text = row.values<std::uint8_t>();
  check_text(text, row.count, named(row));
  for (std::size_t p = 0; p < length_; ++p) {
    const std::size_t most = std::min(degree_, length_ - p);
    std::uint64_t code = 0;
    for (std::size_t k = 0; k < most; ++k) {
      code = code * letters_ + static_cast<std::uint64_t>(code_of_[text[p + k]]);
      const std::uint64_t feature = offset_[k] + p * size_[k] + code;
      if (bits_ > 0) {
        emit(feature, value_[k], bits_, out);
      } else {
        out.indices.push_back(static_cast<std::uint32_t>(feature));
        out.values.push_back(value_[k]);
      }
    }
  }
  if (bits_ > 0) merge(out);
}

// ---------------------------------------------------------------- text

namespace {

constexpr std::uint64_t kStart = 0xcbf29ce484222325ULL, kPrime = 0x100000001b3ULL;  // FNV-1a

std::uint64_t with_byte(std::uint64_t hash, std::uint8_t byte) { return (hash ^ byte) * kPrime; }

bool in_word(std::uint8_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 128;
}
std::uint8_t lower(std::uint8_t c) {
  return c >= 'A' && c <= 'Z' ? static_cast<std::uint8_t>(c + 32) : c;
}

// Where the words of a text begin and end.
std::vector<Range> words_of(const std::uint8_t* text, std::size_t length) {
  std::vector<Range> words;
  for (std::size_t at = 0; at < length;) {
    std::size_t end = at;
    while (end < length && in_word(text[end])) ++end;
    if (end > at) words.push_back({at, end});
    at = end + 1;
  }
  return words;
}

}  // namespace

void Ngrams::expand(Form form, const PackedRow& row, Expanded& out) const {
  check(form == Form::text, "n-grams are for strings, and these are numbers");
  const std::uint8_t* text = row.values<std::uint8_t>();
  std::vector<Range> tokens;
  if (unit_ == Unit::word)
    tokens = words_of(text, row.count);
  else
    for (std::size_t p = 0; p < row.count; ++p) tokens.push_back({p, p + 1});
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    std::uint64_t hash = kStart;
    for (std::size_t k = 0; k < n_ && t + k < tokens.size(); ++k) {
      if (k > 0 && unit_ == Unit::word) hash = with_byte(hash, ' ');
      for (std::size_t p = tokens[t + k].begin; p < tokens[t + k].end; ++p)
        hash = with_byte(hash, unit_ == Unit::word ? lower(text[p]) : text[p]);
      emit(hash, 1.0, bits_, out);
    }
  }
  merge(out);
  to_length_one(out);
}

// ---------------------------------------------------------------- pairs of numbers

namespace {

template <class Value>
void pairs_of(const Value* x, const std::uint32_t* j, std::size_t count, int bits, Expanded& out) {
  const double root = std::sqrt(2.0);
  constexpr std::uint64_t alone = 0xffffffffULL;
  const auto key = [](std::uint64_t a, std::uint64_t b) { return (a << 32) | b; };
  for (std::size_t q = 0; q < count; ++q) {
    const double value = static_cast<double>(x[q]);
    if (value == 0) continue;
    const std::uint64_t index = j ? j[q] : q;
    emit(key(index, alone), root * value, bits, out);
    emit(key(index, index), value * value, bits, out);
    for (std::size_t r = q + 1; r < count; ++r)
      if (x[r] != 0)
        emit(key(index, j ? j[r] : r), root * value * static_cast<double>(x[r]), bits, out);
  }
}

}  // namespace

void Pairs::expand(Form form, const PackedRow& row, Expanded& out) const {
  switch (form) {
    case Form::dense32:
      pairs_of(row.values<float>(), nullptr, row.count, bits_, out);
      break;
    case Form::dense64:
      pairs_of(row.values<double>(), nullptr, row.count, bits_, out);
      break;
    case Form::sparse32:
      pairs_of(row.values<float>(), row.indices<float>(), row.count, bits_, out);
      break;
    case Form::sparse64:
      pairs_of(row.values<double>(), row.indices<double>(), row.count, bits_, out);
      break;
    case Form::text:
      throw InvalidInput("pairs of features are for numbers, and these rows are strings");
  }
  merge(out);
}

ExpandedBlock expand_block(const PackedBlock& block, const Format& format) {
  ExpandedBlock all;
  all.starts.push_back(0);
  Expanded row;
  std::vector<std::size_t> order;
  for (std::size_t r = 0; r < block.n(); ++r) {
    row.clear();
    format.map->expand(format.form, block.row(r), row);
    order.resize(row.indices.size());
    for (std::size_t q = 0; q < order.size(); ++q) order[q] = q;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return row.indices[a] < row.indices[b]; });
    for (const std::size_t q : order) {
      all.indices.push_back(row.indices[q]);
      all.values.push_back(row.values[q]);
    }
    all.starts.push_back(static_cast<std::int64_t>(all.indices.size()));
  }
  return all;
}

void score_block(const PackedBlock& block, const Format& format, const double* w, double* scores,
                 Pool& pool) {
  const std::size_t parts = pieces(block.n(), 64);
  pool.run(parts, [&](std::size_t k) {
    const Range range = part_of(block.n(), parts, k);
    with_access(format, [&](auto access) {
      for (std::size_t r = range.begin; r < range.end; ++r) scores[r] = access(block.row(r)).dot(w);
    });
  });
}

}  // namespace maxmargin
