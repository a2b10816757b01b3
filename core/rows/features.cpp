#include "rows/features.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "rows/hashing.hpp"

namespace maxmargin {

namespace {

std::string named(const PackedRow& row) { return "row " + std::to_string(row.id); }

}  // namespace

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

// ---------------------------------------------------------------- weighted degree

double WeightedDegree::dimensions(std::size_t letters, std::size_t length, std::size_t degree) {
  double sum = 0;
  for (std::size_t k = 1; k <= degree; ++k)
    sum += static_cast<double>(length - k + 1) *
           std::pow(static_cast<double>(letters), static_cast<double>(k));
  return sum;
}

WeightedDegree::WeightedDegree(const Alphabet& alphabet, std::size_t length, std::size_t degree,
                               int bits)
    : code_of_(alphabet), letters_(alphabet.size()), length_(length), degree_(degree), bits_(bits) {
  const std::size_t letters = letters_;
  check(degree >= 1 && degree <= length, "the degree must be between 1 and the length of strings");
  check(std::pow(static_cast<double>(letters), static_cast<double>(degree)) < 9e18,
        "too many substrings of this degree: take a lower degree");
  check(bits > 0 || dimensions(letters, length, degree) < 4294967294.0,
        "too many features for places of their own: hash them");
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

void WeightedDegree::check_length(std::size_t count, const std::string& name) const {
  if (count != length_)
    throw InvalidInput(name + " is a string of " + std::to_string(count) + " letters; expected " +
                       std::to_string(length_) + ", as in the rows before");
}

void WeightedDegree::expand(Form form, const PackedRow& row, Expanded& out) const {
  check(form == Form::text, "the weighted degree kernel is for strings, and these are numbers");
  const std::uint8_t* text = row.values<std::uint8_t>();
  check_length(row.count, named(row));
  for (std::size_t p = 0; p < length_; ++p) {
    const std::size_t most = std::min(degree_, length_ - p);
    std::uint64_t code = 0;
    for (std::size_t k = 0; k < most && code_of_[text[p + k]] >= 0; ++k) {
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

// ---------------------------------------------------------------- numbers

namespace {

// f(values, indices) of a row of numbers; dense rows have no indices.
template <class F>
void with_numbers(Form form, const PackedRow& row, F f) {
  const std::uint32_t* none = nullptr;
  switch (form) {
    case Form::dense32:
      return f(row.values<float>(), none);
    case Form::dense64:
      return f(row.values<double>(), none);
    case Form::sparse32:
      return f(row.values<float>(), row.indices<float>());
    case Form::sparse64:
      return f(row.values<double>(), row.indices<double>());
    case Form::text:
      throw InvalidInput("these features are made of numbers, and the rows are strings");
  }
}

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
  with_numbers(form, row, [&](auto x, auto j) { pairs_of(x, j, row.count, bits_, out); });
  merge(out);
}

void Hashed::expand(Form form, const PackedRow& row, Expanded& out) const {
  with_numbers(form, row, [&](auto x, auto j) {
    for (std::size_t q = 0; q < row.count; ++q)
      if (x[q] != 0) emit(j ? j[q] : q, static_cast<double>(x[q]), bits_, out);
  });
  merge(out);
}

ExpandedBlock expand_block(const PackedBlock& block, const Format& format, Pool& pool) {
  const std::size_t parts = pieces(block.n(), 64);
  std::vector<ExpandedBlock> made(parts);
  pool.run(parts, [&](std::size_t k) {
    const Range range = part_of(block.n(), parts, k);
    Expanded row;
    std::vector<std::size_t> order;
    for (std::size_t r = range.begin; r < range.end; ++r) {
      row.clear();
      format.map->expand(format.form, block.row(r), row);
      order.resize(row.indices.size());
      for (std::size_t q = 0; q < order.size(); ++q) order[q] = q;
      if (!std::is_sorted(row.indices.begin(), row.indices.end()))
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return row.indices[a] < row.indices[b]; });
      for (const std::size_t q : order) {
        made[k].indices.push_back(static_cast<std::int32_t>(row.indices[q]));
        made[k].values.push_back(row.values[q]);
      }
      made[k].starts.push_back(static_cast<std::int64_t>(made[k].indices.size()));
    }
  });
  ExpandedBlock all;
  all.starts.push_back(0);
  for (const ExpandedBlock& part : made) {
    const std::int64_t before = all.starts.back();
    for (const std::int64_t end : part.starts) all.starts.push_back(before + end);
    all.indices.insert(all.indices.end(), part.indices.begin(), part.indices.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
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
