#include "linear/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kPanel = 48;  // columns factored at a time

// The Cholesky factor of a small diagonal block, in place.
bool factor_block(double* H, std::size_t d, std::size_t begin, std::size_t end) {
  for (std::size_t j = begin; j < end; ++j) {
    double* row = H + j * d;
    for (std::size_t k = begin; k < j; ++k) {
      double sum = row[k];
      const double* other = H + k * d;
      for (std::size_t m = begin; m < k; ++m) sum -= row[m] * other[m];
      row[k] = sum / other[k];
    }
    double pivot = row[j];
    for (std::size_t m = begin; m < j; ++m) pivot -= row[m] * row[m];
    if (!(pivot > 0)) return false;
    row[j] = std::sqrt(pivot);
  }
  return true;
}

// Rows [first, last) of the panel: X <- X L^-T with the block just factored.
MAXMARGIN_CLONES void solve_panel(double* H, std::size_t d, std::size_t begin, std::size_t end,
                                  std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i) {
    double* x = H + i * d;
    for (std::size_t k = begin; k < end; ++k) {
      const double* row = H + k * d;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t m = begin; m < k; ++m) sum += x[m] * row[m];
      x[k] = (x[k] - sum) / row[k];
    }
  }
}

void solve_triangles(const double* L, std::size_t d, double* b) {
  for (std::size_t i = 0; i < d; ++i) {
    double sum = b[i];
    for (std::size_t k = 0; k < i; ++k) sum -= L[i * d + k] * b[k];
    b[i] = sum / L[i * d + i];
  }
  for (std::size_t i = d; i-- > 0;) {
    b[i] /= L[i * d + i];
    for (std::size_t k = 0; k < i; ++k) b[k] -= L[i * d + k] * b[i];
  }
}

}  // namespace

MAXMARGIN_CLONES void add_tile(const double* left, const double* right, std::size_t rows,
                               std::size_t stride, double* H, std::size_t H_stride) {
  double tile[kTileRows][kTileColumns] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    const double* x = left + r * stride;
    const double* z = right + r * stride;
#pragma GCC unroll 4
    for (std::size_t j = 0; j < kTileRows; ++j)
#pragma omp simd
      for (std::size_t k = 0; k < kTileColumns; ++k) tile[j][k] += x[j] * z[k];
  }
  for (std::size_t j = 0; j < kTileRows; ++j)
    for (std::size_t k = 0; k < kTileColumns; ++k) H[j * H_stride + k] += tile[j][k];
}

bool cholesky_solve(double* H, std::size_t d, double* b, Pool& pool) {
  // Padding to whole tiles by an identity block keeps the inner loops free of special cases.
  const std::size_t padded = (d + kTileColumns - 1) / kTileColumns * kTileColumns;
  std::vector<double> A(padded * padded, 0.0);
  for (std::size_t j = 0; j < d; ++j)
    std::copy(H + j * d, H + j * d + j + 1, A.data() + j * padded);
  for (std::size_t j = d; j < padded; ++j) A[j * padded + j] = 1.0;
  std::vector<double> columns(2 * kPanel * padded);  // the panel transposed, and its negative
  for (std::size_t begin = 0; begin < padded; begin += kPanel) {
    const std::size_t end = std::min(begin + kPanel, padded), below = padded - end;
    if (!factor_block(A.data(), padded, begin, end)) return false;
    if (below == 0) break;
    double* plus = columns.data();
    double* minus = plus + kPanel * padded;
    const std::size_t parts = pieces(below, 32);
    pool.run(parts, [&](std::size_t part) {
      const Range range = part_of(below, parts, part);
      solve_panel(A.data(), padded, begin, end, end + range.begin, end + range.end);
      for (std::size_t i = range.begin; i < range.end; ++i)
        for (std::size_t k = begin; k < end; ++k) {
          const double value = A[(end + i) * padded + k];
          plus[(k - begin) * below + i] = value;
          minus[(k - begin) * below + i] = -value;
        }
    });
    const std::size_t row_tiles = below / kTileRows;
    const std::size_t tasks = pieces(row_tiles, 4);
    pool.run(tasks, [&](std::size_t task) {
      const Range range = part_of(row_tiles, tasks, tasks - 1 - task);  // long rows first
      for (std::size_t t = range.begin; t < range.end; ++t) {
        const std::size_t i = t * kTileRows;
        for (std::size_t k = 0; k < i + kTileRows; k += kTileColumns)
          add_tile(minus + i, plus + k, end - begin, below, A.data() + (end + i) * padded + end + k,
                   padded);
      }
    });
  }
  for (std::size_t j = 0; j < d; ++j)
    std::copy(A.data() + j * padded, A.data() + j * padded + j + 1, H + j * d);
  solve_triangles(H, d, b);
  return true;
}

}  // namespace maxmargin
