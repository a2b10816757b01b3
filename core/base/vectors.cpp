#include "base/vectors.hpp"

#include "base/clones.hpp"

namespace maxmargin {

namespace {

MAXMARGIN_CLONES double inner_part(const double* x, const double* y, Range range) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = range.begin; i < range.end; ++i) sum += x[i] * y[i];
  return sum;
}

MAXMARGIN_CLONES void blend_part(double alpha, const double* x, double beta, const double* y,
                                 double* out, Range range) {
#pragma omp simd
  for (std::size_t i = range.begin; i < range.end; ++i) out[i] = alpha * x[i] + beta * y[i];
}

}  // namespace

double inner(const double* x, const double* y, std::size_t n, Pool& pool) {
  return sum_pieces<double>(n, pool, [&](Range range) { return inner_part(x, y, range); });
}

void blend(double alpha, const double* x, double beta, const double* y, double* out, std::size_t n,
           Pool& pool) {
  const std::size_t parts = pieces(n);
  pool.run(parts, [&](std::size_t k) { blend_part(alpha, x, beta, y, out, part_of(n, parts, k)); });
}

}  // namespace maxmargin
