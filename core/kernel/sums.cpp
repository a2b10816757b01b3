#include "kernel/sums.hpp"

#include <algorithm>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kLanes = 32;  // partial sums: their order is that of no instruction set

// sum_j k_j beta_j
template <class Value>
MAXMARGIN_INLINE Value dot_of(const Value* k, const Value* beta, std::size_t n) {
  Value part[kLanes] = {};
  const std::size_t whole = n - n % kLanes;
  for (std::size_t j = 0; j < whole; j += kLanes)
#pragma omp simd
    for (std::size_t lane = 0; lane < kLanes; ++lane) part[lane] += k[j + lane] * beta[j + lane];
  for (std::size_t j = whole; j < n; ++j) part[j - whole] += k[j] * beta[j];
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
  return part[0];
}
MAXMARGIN_WIDE_CLONES double dot(const double* k, const double* beta, std::size_t n) {
  return dot_of(k, beta, n);
}
MAXMARGIN_WIDE_CLONES float dot(const float* k, const float* beta, std::size_t n) {
  return dot_of(k, beta, n);
}

MAXMARGIN_WIDE_CLONES void add_multiple(double factor, const double* k, std::size_t n,
                                        double* sums) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) sums[j] += factor * k[j];
}

template <class Value>
void add_sums(const KernelFunction& k, Value* products, std::size_t rows, const Value* row_norms,
              const Value* column_norms, const CoefficientsOf<Value>& beta, double* sums) {
  for (std::size_t r = 0; r < rows; ++r) {
    Value* values = products + r * beta.n;
    kernel_row_in_place(k, values, row_norms[r], column_norms, beta.n);
    sums[2 * r] += static_cast<double>(dot(values, beta.beta, beta.positive));
    sums[2 * r + 1] += static_cast<double>(
        dot(values + beta.positive, beta.beta + beta.positive, beta.n - beta.positive));
  }
}

}  // namespace

void add_kernel_sums(const KernelFunction& k, double* products, std::size_t rows,
                     const double* row_norms, const double* column_norms, const Coefficients& beta,
                     double* sums) {
  add_sums(k, products, rows, row_norms, column_norms, beta, sums);
}

void add_kernel_sums(const KernelFunction& k, float* products, std::size_t rows,
                     const float* row_norms, const float* column_norms,
                     const SingleCoefficients& beta, double* sums) {
  add_sums(k, products, rows, row_norms, column_norms, beta, sums);
}

void add_symmetric_sums(const KernelFunction& k, double* products, const ProductTile& tile,
                        const double* norms, const Coefficients& beta, double* sums) {
  double *positive = sums, *others = sums + beta.n;
  const std::size_t end = tile.column + tile.columns;
  for (std::size_t i = tile.row; i < tile.row + tile.rows; ++i) {
    const std::size_t begin = std::max(tile.column, i + 1);
    if (begin >= end) break;
    double* values = products + (i - tile.row) * tile.columns + (begin - tile.column);
    const std::size_t n = end - begin;
    kernel_row_in_place(k, values, norms[i], norms + begin, n);
    const std::size_t split = std::clamp(beta.positive, begin, end) - begin;
    positive[i] += dot(values, beta.beta + begin, split);
    others[i] += dot(values + split, beta.beta + begin + split, n - split);
    add_multiple(beta.beta[i], values, n, (i < beta.positive ? positive : others) + begin);
  }
}

}  // namespace maxmargin
