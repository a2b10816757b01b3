#include "rows/kmers.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "rows/hashing.hpp"

namespace maxmargin {

Alphabet::Alphabet(const std::uint8_t* letters, std::size_t count) : size_(count) {
  check(count >= 1 && count <= 256, "an alphabet has 1 to 256 letters");
  code_of_.fill(-1);
  for (std::size_t a = 0; a < count; ++a) code_of_[letters[a]] = static_cast<std::int16_t>(a);
}

Kmers::Kmers(const Alphabet& alphabet, std::size_t k, int bits)
    : letters_(alphabet.size()), k_(k), power_{1}, alphabet_(alphabet), bits_(bits) {
  check(k >= 1, "words have at least one letter");
  const double words = std::pow(static_cast<double>(letters_), static_cast<double>(k));
  check(words < 9e18, "too many words of this length: take a shorter one");
  check(bits > 0 || words <= 4294967294.0, "too many words for places of their own: hash them");
  for (std::size_t q = 0; q < k; ++q) power_.push_back(power_.back() * letters_);
  d_ = bits > 0 ? std::size_t{1} << bits : power_[k];
}

void Kmers::add(std::uint64_t word, double value, Expanded& out) const {
  if (bits_ > 0) return emit(word, value, bits_, out);
  out.indices.push_back(static_cast<std::uint32_t>(word));
  out.values.push_back(value);
}

void Kmers::expand(Form form, const PackedRow& row, Expanded& out) const {
  check(form == Form::text, "words are for strings, and these are numbers");
  const std::uint8_t* text = row.values<std::uint8_t>();
  std::vector<std::int16_t> codes(row.count);
  for (std::size_t p = 0; p < row.count; ++p) codes[p] = alphabet_[text[p]];
  add_words(codes, out);
  merge(out);
  to_length_one(out);
}

// ---------------------------------------------------------------- mismatches

void Mismatch::add_words(const std::vector<std::int16_t>& codes, Expanded& out) const {
  std::size_t known = 0;  // letters of the alphabet in a row, up to here
  std::uint64_t word = 0;
  for (std::size_t p = 0; p < codes.size(); ++p) {
    known = codes[p] < 0 ? 0 : known + 1;
    if (codes[p] < 0) continue;
    word = word * letters_ + static_cast<std::uint64_t>(codes[p]);
    if (known == 1) word = static_cast<std::uint64_t>(codes[p]);
    word %= power_[k_];
    if (known >= k_) add_neighbours(&codes[p + 1 - k_], 0, mismatches_, word, out);
  }
}

// The word, and all that differ from it in at most `left` letters from place `from` on.
void Mismatch::add_neighbours(const std::int16_t* codes, std::size_t from, std::size_t left,
                              std::uint64_t word, Expanded& out) const {
  add(word, 1.0, out);
  if (left == 0) return;
  for (std::size_t q = from; q < k_; ++q) {
    const std::uint64_t unit = power_[k_ - 1 - q], own = static_cast<std::uint64_t>(codes[q]);
    for (std::uint64_t other = 0; other < letters_; ++other)
      if (other != own) add_neighbours(codes, q + 1, left - 1, word + (other - own) * unit, out);
  }
}

// ---------------------------------------------------------------- gaps

void Gappy::add_words(const std::vector<std::int16_t>& codes, Expanded& out) const {
  for (std::size_t p = 0; p < codes.size(); ++p)
    if (codes[p] >= 0)
      add_rest(codes.data(), std::min(codes.size(), p + span_), p + 1, k_ - 1,
               static_cast<std::uint64_t>(codes[p]), out);
}

void Gappy::add_rest(const std::int16_t* codes, std::size_t end, std::size_t from, std::size_t left,
                     std::uint64_t word, Expanded& out) const {
  if (left == 0) return add(word, 1.0, out);
  for (std::size_t p = from; p + left <= end; ++p)
    if (codes[p] >= 0)
      add_rest(codes, end, p + 1, left - 1, word * letters_ + static_cast<std::uint64_t>(codes[p]),
               out);
}

// ---------------------------------------------------------------- shifts

ShiftedDegree::ShiftedDegree(const Alphabet& alphabet, std::size_t length, std::size_t degree,
                             std::size_t shift, int bits)
    : alphabet_(alphabet), length_(length), degree_(degree), shift_(shift), bits_(bits) {
  check(degree >= 1 && degree <= length, "the degree must be between 1 and the length of strings");
  check(bits >= 1, "features of shifted substrings are hashed");
  const double K = static_cast<double>(degree);
  for (std::size_t k = 1; k <= degree; ++k)
    value_.push_back(std::sqrt(2 * (K - static_cast<double>(k) + 1) / (K * (K + 1)) /
                               static_cast<double>(shift + 1)));
}

void ShiftedDegree::expand(Form form, const PackedRow& row, Expanded& out) const {
  check(form == Form::text, "the weighted degree kernel is for strings, and these are numbers");
  if (row.count != length_)
    throw InvalidInput("row " + std::to_string(row.id) + " is a string of " +
                       std::to_string(row.count) + " letters; expected " + std::to_string(length_) +
                       ", as in the rows before");
  const std::uint8_t* text = row.values<std::uint8_t>();
  for (std::size_t p = 0; p < length_; ++p) {
    std::uint64_t word = 1;  // so that words of different lengths differ
    for (std::size_t k = 0; k < std::min(degree_, length_ - p); ++k) {
      const std::int16_t code = alphabet_[text[p + k]];
      if (code < 0) break;
      word = mixed(word * 257 + static_cast<std::uint64_t>(code) + 1);
      for (std::size_t place = p; place <= p + shift_; ++place)
        emit(word + place * 0x9e3779b97f4a7c15ULL, value_[k], bits_, out);
    }
  }
  merge(out);
  to_length_one(out);
}

}  // namespace maxmargin
