// Dense symmetric positive definite systems, threaded, the same result for any number of threads.
// (LAPACK's threads are a setting of the whole process and change the last digit.)
#pragma once
#include <cstddef>

#include "base/parallel.hpp"

namespace maxmargin {

// Solves H x = b in place of b. H is d x d, row-major; its lower triangle is read, and overwritten
// by the Cholesky factor; what is above it is lost. False if a pivot is not positive: H is not
// positive definite to working precision.
bool cholesky_solve(double* H, std::size_t d, double* b, Pool& pool);

// The factor alone: L L^T = H, in the lower triangle.
bool cholesky_factor(double* H, std::size_t d, Pool& pool);

// Solves L L^T x = b in place of b.
void solve_triangles(const double* L, std::size_t d, double* b);

}  // namespace maxmargin
