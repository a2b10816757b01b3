#include "linear/tiles.hpp"

#include <algorithm>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

// sums[j][k] = sum_r left[j][r W] right[r W + k]: a tile of kTileRows x W numbers.
template <class Real, std::size_t W = kPanelWidth<Real>>
MAXMARGIN_INLINE void multiply_tile(const Real* const* left, const Real* right, std::size_t rows,
                                    Real* sums) {
  Real tile[kTileRows][W] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    const Real* z = right + r * W;
    MAXMARGIN_UNROLL_6
    for (std::size_t j = 0; j < kTileRows; ++j) {
      const Real x = left[j][r * W];
#pragma omp simd
      for (std::size_t k = 0; k < W; ++k) tile[j][k] += x * z[k];
    }
  }
  for (std::size_t j = 0; j < kTileRows; ++j)
    for (std::size_t k = 0; k < W; ++k) sums[j * W + k] = tile[j][k];
}

MAXMARGIN_WIDE_CLONES void tile(const float* const* left, const float* right, std::size_t rows,
                                float* sums) {
  multiply_tile(left, right, rows, sums);
}
MAXMARGIN_WIDE_CLONES void tile(const double* const* left, const double* right, std::size_t rows,
                                double* sums) {
  multiply_tile(left, right, rows, sums);
}

template <class Real>
void add_panel(const Panels<Real>& A, Range rows, std::size_t panel, Range j_range, double sign,
               double* H, std::size_t stride) {
  constexpr std::size_t W = kPanelWidth<Real>;
  const std::size_t first = panel * W, count = std::min(W, A.columns - first);
  const Real* right = A.at(rows.begin, first);
  alignas(kLine) Real sums[kTileRows * W];
  for (std::size_t j = j_range.begin; j < j_range.end; j += kTileRows) {
    const Real* left[kTileRows];
    for (std::size_t t = 0; t < kTileRows; ++t)
      left[t] = A.at(rows.begin, std::min(j + t, j_range.end - 1));
    tile(left, right, rows.end - rows.begin, sums);
    for (std::size_t t = 0; t < std::min(kTileRows, j_range.end - j); ++t) {
      double* out = H + (j + t) * stride + first;
      const Real* in = sums + t * W;
      for (std::size_t k = 0; k < count; ++k) out[k] += sign * static_cast<double>(in[k]);
    }
  }
}

}  // namespace

void add_products(const Panels<float>& A, Range rows, std::size_t panel, Range j, double sign,
                  double* H, std::size_t stride) {
  add_panel(A, rows, panel, j, sign, H, stride);
}
void add_products(const Panels<double>& A, Range rows, std::size_t panel, Range j, double sign,
                  double* H, std::size_t stride) {
  add_panel(A, rows, panel, j, sign, H, stride);
}

}  // namespace maxmargin
