// Sums of kernel values with coefficients, in float64 or in float32: what a machine predicts at its
// training rows.
//
//   k_ij     k(x_i, x_j), made of inner products a row of a tile at a time, used and forgotten
//   beta     coefficients of the columns, positive ones first
//   sums     of row i: sum_j k_ij beta_j over the positive beta_j, and over the others
//
// Apart they give both the prediction, their sum, and the sum of magnitudes that bounds its
// rounding, for kernels that are not negative: their difference.
#pragma once
#include <cstddef>

#include "kernel/functions.hpp"

namespace maxmargin {

template <class Value>
struct CoefficientsOf {
  const Value* beta;
  std::size_t n, positive;  // the first `positive` of the n are
};
using Coefficients = CoefficientsOf<double>;
using SingleCoefficients = CoefficientsOf<float>;

// products[r][c] = <x_r, z_c>, overwritten. sums: two numbers a row.
void add_kernel_sums(const KernelFunction& k, double* products, std::size_t rows,
                     const double* row_norms, const double* column_norms, const Coefficients& beta,
                     double* sums);

// The same from products and norms in float32.
void add_kernel_sums(const KernelFunction& k, float* products, std::size_t rows,
                     const float* row_norms, const float* column_norms,
                     const SingleCoefficients& beta, double* sums);

// As above, for a tile of a symmetric matrix, on or right of its diagonal: adds the values right of
// the diagonal, and their mirror image. norms and beta are those of all rows; sums holds first
// those of positive coefficients, n of them, then the others.
void add_symmetric_sums(const KernelFunction& k, double* products, const ProductTile& tile,
                        const double* norms, const Coefficients& beta, double* sums);

}  // namespace maxmargin
