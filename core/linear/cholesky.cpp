#include "linear/cholesky.hpp"

#include <algorithm>
#include <cmath>

#include "base/clones.hpp"
#include "linear/solve_lower.hpp"
#include "linear/tiles.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kBlock = 128;        // columns factored at a time
constexpr std::size_t kGroup = 4;          // panels that share what they read of the other side
constexpr std::size_t kLeftColumns = 192;  // of which so many columns stay in a cache
constexpr std::size_t kWidth = Panels<double>::width;

// The Cholesky factor of a small diagonal block, in place.
MAXMARGIN_CLONES bool factor_block(double* H, std::size_t d, std::size_t size) {
  for (std::size_t j = 0; j < size; ++j) {
    double* row = H + j * d;
    for (std::size_t k = 0; k <= j; ++k) {
      const double* other = H + k * d;
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t m = 0; m < k; ++m) sum += row[m] * other[m];
      if (k < j)
        row[k] = (row[k] - sum) / other[k];
      else if (!(row[j] - sum > 0))
        return false;
      else
        row[j] = std::sqrt(row[j] - sum);
    }
  }
  return true;
}

// X <- X L^-T for one panel of rows of X: x holds them transposed, kWidth numbers a column.
MAXMARGIN_WIDE_CLONES void solve_panel(const double* L, std::size_t d, std::size_t size,
                                       double* x) {
  solve_lower<kWidth>(L, d, size, x);
}

// The rows below a factored block: packs those of one panel, solves them, writes them back.
void finish_rows(double* H, std::size_t d, std::size_t begin, std::size_t size,
                 const Panels<double>& A, std::size_t panel) {
  const std::size_t first = panel * kWidth, count = std::min(kWidth, A.columns - first);
  double* x = A.at(0, first);
  double* rows = H + (begin + size + first) * d + begin;
  std::fill_n(x, size * kWidth, 0.0);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < size; ++k) x[k * kWidth + i] = rows[i * d + k];
  solve_panel(H + begin * d + begin, d, size, x);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < size; ++k) rows[i * d + k] = x[k * kWidth + i];
}

// What is left of the matrix, less the products of the rows just finished: a group of its panels.
void subtract_products(const Panels<double>& A, std::size_t size, std::size_t group, double* H,
                       std::size_t d) {
  const std::size_t first = group * kGroup, last = std::min(first + kGroup, A.count());
  for (std::size_t j = first * kWidth; j < A.columns; j += kLeftColumns)
    for (std::size_t panel = first; panel < last; ++panel) {
      const Range rows{std::max(j, panel * kWidth), std::min(j + kLeftColumns, A.columns)};
      if (rows.begin < rows.end) add_products(A, Range{0, size}, panel, rows, -1.0, H, d);
    }
}

}  // namespace

bool cholesky_factor(double* H, std::size_t d, Pool& pool) {
  double* memory = pool.scratch(Panels<double>::doubles(kBlock, d));
  for (std::size_t begin = 0; begin < d; begin += kBlock) {
    const std::size_t size = std::min(kBlock, d - begin), end = begin + size;
    if (!factor_block(H + begin * d + begin, d, size)) return false;
    if (end == d) break;
    const Panels<double> A(memory, kBlock, d - end);
    const std::size_t tasks = pieces(A.count(), 4);
    pool.run(tasks, [&](std::size_t task) {
      const Range range = part_of(A.count(), tasks, task);
      for (std::size_t panel = range.begin; panel < range.end; ++panel)
        finish_rows(H, d, begin, size, A, panel);
    });
    pool.run((A.count() + kGroup - 1) / kGroup,
             [&](std::size_t group) { subtract_products(A, size, group, H + end * d + end, d); });
  }
  return true;
}

MAXMARGIN_CLONES void solve_triangles(const double* L, std::size_t d, double* b) {
  for (std::size_t i = 0; i < d; ++i) {
    const double* row = L + i * d;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < i; ++k) sum += row[k] * b[k];
    b[i] = (b[i] - sum) / row[i];
  }
  for (std::size_t i = d; i-- > 0;) {
    const double* row = L + i * d;
    const double x = b[i] /= row[i];
#pragma omp simd
    for (std::size_t k = 0; k < i; ++k) b[k] -= row[k] * x;
  }
}

bool cholesky_solve(double* H, std::size_t d, double* b, Pool& pool) {
  if (!cholesky_factor(H, d, pool)) return false;
  solve_triangles(H, d, b);
  return true;
}

}  // namespace maxmargin
