// Long vectors: sums and combinations, threaded, the same for any number of threads.
#pragma once
#include <cstddef>

#include "base/parallel.hpp"

namespace maxmargin {

// sum_i x_i y_i
double inner(const double* x, const double* y, std::size_t n, Pool& pool);

// out = alpha x + beta y; out may be x or y
void blend(double alpha, const double* x, double beta, const double* y, double* out, std::size_t n,
           Pool& pool);

}  // namespace maxmargin
