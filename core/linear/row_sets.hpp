// Sets of rows, a bit a row, and the two sums over them that cutting planes need. Eight rows are
// handled at a time: a byte of a set picks one of the 256 possible sums.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace maxmargin {

class RowSets {
 public:
  explicit RowSets(std::size_t n) : n_(n), groups_((n + kGroup - 1) / kGroup) {}

  std::size_t size() const { return size_; }
  std::size_t n() const { return n_; }
  // Adds the set of rows i with l_i != 0.
  void append(const double* l);
  // Forgets all sets but those listed, in increasing order.
  void keep(const std::vector<std::size_t>& sets);
  // sums_j = sum over rows i in set j of v_i
  void sums(const double* v, double* sums, Pool& pool) const;
  // shares_i = sum over sets j with row i of beta_j
  void shares(const double* beta, double* shares, Pool& pool) const;

 private:
  static constexpr std::size_t kGroup = 8;    // rows in a byte
  static constexpr std::size_t kBundle = 64;  // sets whose bytes of one group lie side by side

  const std::uint8_t* bytes(std::size_t bundle, std::size_t group) const {
    return bundles_[bundle].data() + group * kBundle;
  }
  std::uint8_t& byte(std::size_t set, std::size_t group) {
    return bundles_[set / kBundle][group * kBundle + set % kBundle];
  }
  void add_sums(const double* v, Range groups, double* sums) const;
  void fill_shares(const double* beta, Range groups, double* shares) const;

  std::size_t n_, groups_, size_ = 0;
  std::vector<std::vector<std::uint8_t>> bundles_;
};

}  // namespace maxmargin
