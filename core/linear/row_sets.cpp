#include "linear/row_sets.hpp"

#include <algorithm>
#include <array>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kBytes = 256;  // values of a byte
constexpr std::size_t kGroupsInPiece = 512;
constexpr std::size_t kAtOnce = 4;  // sums under way at once: one alone would wait for itself

// The bits of every byte, as numbers to multiply with.
constexpr auto kBits = [] {
  std::array<std::array<double, 8>, kBytes> bits{};
  for (std::size_t byte = 0; byte < kBytes; ++byte)
    for (std::size_t row = 0; row < 8; ++row) bits[byte][row] = (byte >> row) & 1 ? 1.0 : 0.0;
  return bits;
}();

using Sums = std::array<std::array<double, 8>, kAtOnce>;

MAXMARGIN_CLONES void add_shares(const std::uint8_t* bytes, const double* beta, std::size_t count,
                                 Sums& sums) {
  Sums s = sums;
  for (std::size_t k = 0; k < count; k += kAtOnce)
    for (std::size_t m = 0; m < kAtOnce; ++m) {
      const double* bits = kBits[bytes[k + m]].data();
      const double weight = beta[k + m];
#pragma omp simd
      for (std::size_t row = 0; row < 8; ++row) s[m][row] += weight * bits[row];
    }
  sums = s;
}

}  // namespace

void RowSets::append(const double* l) {
  if (size_ == kBundle * bundles_.size()) bundles_.emplace_back(groups_ * kBundle, 0);
  for (std::size_t i = 0; i < n_; ++i)
    if (l[i] != 0) byte(size_, i / kGroup) |= static_cast<std::uint8_t>(1u << (i % kGroup));
  ++size_;
}

void RowSets::keep(const std::vector<std::size_t>& sets) {
  const std::size_t wanted = (sets.size() + kBundle - 1) / kBundle;
  std::size_t moved = 0;
  while (moved < sets.size() && sets[moved] == moved) ++moved;
  for (std::size_t group = 0; group < groups_; ++group) {
    for (std::size_t k = moved; k < sets.size(); ++k) byte(k, group) = byte(sets[k], group);
    for (std::size_t k = sets.size(); k < wanted * kBundle; ++k) byte(k, group) = 0;
  }
  bundles_.resize(wanted);
  size_ = sets.size();
}

void RowSets::add_sums(const double* v, Range groups, double* sums) const {
  std::array<double, kBytes> table;
  for (std::size_t group = groups.begin; group < groups.end; ++group) {
    const std::size_t first = group * kGroup, rows = std::min(kGroup, n_ - first);
    table[0] = 0;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t rest = 0, bit = std::size_t{1} << row; rest < bit; ++rest)
        table[bit + rest] = table[rest] + v[first + row];
    for (std::size_t bundle = 0; bundle < bundles_.size(); ++bundle) {
      const std::uint8_t* picks = bytes(bundle, group);
      double* out = sums + bundle * kBundle;
      for (std::size_t k = 0; k < kBundle; ++k) out[k] += table[picks[k]];
    }
  }
}

void RowSets::sums(const double* v, double* sums, Pool& pool) const {
  const std::size_t parts = pieces(groups_, kGroupsInPiece), length = bundles_.size() * kBundle;
  std::vector<double> partial(parts * length, 0.0);
  pool.run(parts, [&](std::size_t part) {
    add_sums(v, part_of(groups_, parts, part), partial.data() + part * length);
  });
  for (std::size_t j = 0; j < size_; ++j) {
    sums[j] = 0;
    for (std::size_t part = 0; part < parts; ++part) sums[j] += partial[part * length + j];
  }
}

// beta has a weight for every place in the bundles; those of places not yet taken are 0.
void RowSets::fill_shares(const double* beta, Range groups, double* shares) const {
  for (std::size_t group = groups.begin; group < groups.end; ++group) {
    Sums sums{};
    for (std::size_t bundle = 0; bundle < bundles_.size(); ++bundle)
      add_shares(bytes(bundle, group), beta + bundle * kBundle, kBundle, sums);
    const std::size_t first = group * kGroup;
    for (std::size_t row = 0; row < std::min(kGroup, n_ - first); ++row) {
      shares[first + row] = 0;
      for (const auto& sum : sums) shares[first + row] += sum[row];
    }
  }
}

void RowSets::shares(const double* beta, double* shares, Pool& pool) const {
  std::vector<double> padded(bundles_.size() * kBundle, 0.0);
  std::copy(beta, beta + size_, padded.begin());
  const std::size_t parts = pieces(groups_, kGroupsInPiece);
  pool.run(parts, [&](std::size_t part) {
    fill_shares(padded.data(), part_of(groups_, parts, part), shares);
  });
}

}  // namespace maxmargin
