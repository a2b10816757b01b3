// Dense symmetric positive definite systems, threaded, the same result for any number of threads.
// (LAPACK's threads are a setting of the whole process and change the last digit.)
#pragma once
#include <cstddef>

#include "base/parallel.hpp"

namespace maxmargin {

// H_jk += sum_r left_rj right_rk for a tile of 4 rows and 8 columns, held in registers.
constexpr std::size_t kTileRows = 4, kTileColumns = 8;
void add_tile(const double* left, const double* right, std::size_t rows, std::size_t stride,
              double* H, std::size_t H_stride);

// Solves H x = b in place of b. H is d x d, row-major; its lower triangle is overwritten by the
// Cholesky factor. False if a pivot is not positive: H is not positive definite to working
// precision.
bool cholesky_solve(double* H, std::size_t d, double* b, Pool& pool);

}  // namespace maxmargin
