// Features made from compact rows when they are used (FeatureMap in rows/packed.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "rows/kmers.hpp"
#include "rows/packed.hpp"

namespace maxmargin {

// The weighted degree kernel on strings of one length (Sonnenburg, Franc 2010): the substring of
// length k = 1 .. degree at position p is one feature, of value sqrt(beta_k), and rows have length
// one:  beta_k = 2 (K - k + 1) / (K (K + 1)).
// bits = 0: each of the L * sum_k A^k features has a place of its own. Else places are hashed into
// 2^bits. Substrings with a letter that is not in the alphabet carry no feature.
class WeightedDegree : public FeatureMap {
 public:
  WeightedDegree(const Alphabet& alphabet, std::size_t length, std::size_t degree, int bits);
  std::size_t d() const override { return d_; }
  std::size_t typical_entries() const override { return length_ * degree_; }
  void expand(Form form, const PackedRow& row, Expanded& out) const override;
  // <w, phi(x_r)> of n strings letters[starts[r]] .. letters[starts[r + 1]], position by position:
  // all features of a position are a slice of w that stays in a cache. Not for hashed features.
  void score(const std::uint8_t* letters, const std::int64_t* starts, std::size_t n,
             const double* w, double* scores, Pool& pool) const;
  // a += sum_r v_r phi(x_r) of the same strings, position by position.
  void add(const std::uint8_t* letters, const std::int64_t* starts, std::size_t n, const double* v,
           double* a, Pool& pool) const;

  // Features without hashing; as a double, for they may be very many.
  static double dimensions(std::size_t letters, std::size_t length, std::size_t degree);

 private:
  void check_length(std::size_t count, const std::string& name) const;
  bool has_unknown(const std::uint8_t* text) const;
  double score_letters(const std::uint8_t* text, const double* w) const;
  void add_at(const std::uint8_t* const* texts, std::size_t n, const double* v,
              std::size_t position, std::size_t depth, std::vector<double>& table, double* a) const;
  const double* fill_table(const double* w, std::size_t position, std::size_t depth, double* room,
                           double* other) const;
  std::vector<std::uint8_t> codes_by_position(const std::uint8_t* const* texts, std::size_t n,
                                              Range positions) const;
  void score_group(const std::uint8_t* const* texts, std::size_t n, const double* w,
                   Range positions, std::size_t depth, double* sums) const;
  void score_chunk(const std::uint8_t* const* texts, std::size_t n, const double* w, double* scores,
                   Pool& pool) const;

  Alphabet code_of_;
  std::size_t letters_, length_, degree_, d_;
  int bits_;
  std::vector<std::uint64_t> offset_, size_;  // by k: first feature, features a position
  std::vector<double> value_;                 // by k
};

// Sequences of 1 .. n tokens, hashed into 2^bits signed places; rows have length one. Tokens are
// words (letters, digits and whatever is not ASCII, in lower case) or single bytes.
class Ngrams : public FeatureMap {
 public:
  enum class Unit : int { word, byte };
  Ngrams(Unit unit, std::size_t n, int bits) : unit_(unit), n_(n), bits_(bits) {}
  std::size_t d() const override { return std::size_t{1} << bits_; }
  std::size_t typical_entries() const override { return 1000; }
  void expand(Form form, const PackedRow& row, Expanded& out) const override;

 private:
  Unit unit_;
  std::size_t n_;
  int bits_;
};

// Features x_i, squares and products of two, hashed into 2^bits signed places. But for collisions
// <phi(x), phi(z)> = (1 + <x, z>)^2 - 1.
class Pairs : public FeatureMap {
 public:
  explicit Pairs(int bits) : bits_(bits) {}
  std::size_t d() const override { return std::size_t{1} << bits_; }
  std::size_t typical_entries() const override { return 1000; }
  void expand(Form form, const PackedRow& row, Expanded& out) const override;

 private:
  int bits_;
};

// Features x_i in 2^bits hashed signed places.
class Hashed : public FeatureMap {
 public:
  explicit Hashed(int bits) : bits_(bits) {}
  std::size_t d() const override { return std::size_t{1} << bits_; }
  std::size_t typical_entries() const override { return 1000; }
  void expand(Form form, const PackedRow& row, Expanded& out) const override;

 private:
  int bits_;
};

// The features of all rows of a block as CSR; of 2^31 places at most.
struct ExpandedBlock {
  std::vector<double> values;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> starts;
};
ExpandedBlock expand_block(const PackedBlock& block, const Format& format, Pool& pool);

// <w, phi(x_r)> for every row of a block.
void score_block(const PackedBlock& block, const Format& format, const double* w, double* scores,
                 Pool& pool);

}  // namespace maxmargin
