// Forward substitution for kWidth right sides beside each other: X <- L^-1 X.
#pragma once
#include <cstddef>

#include "base/clones.hpp"

namespace maxmargin {

// L is lower triangular with `size` rows, d numbers from one row to the next; x has kWidth numbers
// for each of them.
template <std::size_t kWidth>
MAXMARGIN_INLINE void solve_lower(const double* L, std::size_t d, std::size_t size, double* x) {
  for (std::size_t k = 0; k < size; ++k) {
    const double* row = L + k * d;
    double sums[kWidth] = {};
    for (std::size_t m = 0; m < k; ++m)
#pragma omp simd
      for (std::size_t i = 0; i < kWidth; ++i) sums[i] += row[m] * x[m * kWidth + i];
#pragma omp simd
    for (std::size_t i = 0; i < kWidth; ++i)
      x[k * kWidth + i] = (x[k * kWidth + i] - sums[i]) / row[k];
  }
}

}  // namespace maxmargin
