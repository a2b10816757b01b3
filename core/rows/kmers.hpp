// Features of strings that are counts of short words, wherever they are. Letters that are not in
// the alphabet (N, gaps) tolerate nothing and spoil nothing: words with them carry no feature.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "rows/packed.hpp"

namespace maxmargin {

// The letters there are, numbered; -1 for all others.
class Alphabet {
 public:
  Alphabet(const std::uint8_t* letters, std::size_t count);
  std::size_t size() const { return size_; }
  std::int16_t operator[](std::uint8_t letter) const { return code_of_[letter]; }

 private:
  std::size_t size_;
  std::array<std::int16_t, 256> code_of_;
};

// What maps of words of k letters share: a place for each of the A^k words, or 2^bits hashed ones
// with a sign; what fell into one place is added up, and rows have length one.
class Kmers : public FeatureMap {
 public:
  Kmers(const Alphabet& alphabet, std::size_t k, int bits);
  std::size_t d() const override { return d_; }
  std::size_t typical_entries() const override { return 1000; }
  void expand(Form form, const PackedRow& row, Expanded& out) const override;

 protected:
  // Adds the words of a string, whose letters are numbers or -1.
  virtual void add_words(const std::vector<std::int16_t>& codes, Expanded& out) const = 0;
  void add(std::uint64_t word, double value, Expanded& out) const;

  std::size_t letters_, k_;
  std::vector<std::uint64_t> power_;  // letters^0 .. letters^k

 private:
  Alphabet alphabet_;
  int bits_;
  std::size_t d_;
};

// The (k, m)-mismatch kernel (Leslie et al. 2004): a word counts for all words that differ from it
// in at most m letters. m = 0 is the spectrum kernel.
class Mismatch : public Kmers {
 public:
  Mismatch(const Alphabet& alphabet, std::size_t k, std::size_t mismatches, int bits)
      : Kmers(alphabet, k, bits), mismatches_(mismatches) {}

 protected:
  void add_words(const std::vector<std::int16_t>& codes, Expanded& out) const override;

 private:
  void add_neighbours(const std::int16_t* codes, std::size_t from, std::size_t left,
                      std::uint64_t word, Expanded& out) const;
  std::size_t mismatches_;
};

// Words of k letters in the order of the string, the last less than `span` places after the first;
// letters between them are free.
class Gappy : public Kmers {
 public:
  Gappy(const Alphabet& alphabet, std::size_t k, std::size_t span, int bits)
      : Kmers(alphabet, k, bits), span_(span) {}

 protected:
  void add_words(const std::vector<std::int16_t>& codes, Expanded& out) const override;

 private:
  void add_rest(const std::int16_t* codes, std::size_t end, std::size_t from, std::size_t left,
                std::uint64_t word, Expanded& out) const;
  std::size_t span_;
};

// The weighted degree kernel with shifts, on strings of one length: a substring of length
// l = 1 .. degree at position p of one string meets the same at position q of the other with the
// weight beta_l (1 - |p - q| / (shift + 1)). It is a feature at each of the places p .. p + shift.
class ShiftedDegree : public FeatureMap {
 public:
  ShiftedDegree(const Alphabet& alphabet, std::size_t length, std::size_t degree, std::size_t shift,
                int bits);
  std::size_t d() const override { return std::size_t{1} << bits_; }
  std::size_t typical_entries() const override { return (length_ + shift_) * degree_; }
  void expand(Form form, const PackedRow& row, Expanded& out) const override;

 private:
  Alphabet alphabet_;
  std::size_t length_, degree_, shift_;
  int bits_;
  std::vector<double> value_;  // by length of the substring
};

}  // namespace maxmargin
