// The mean shift of the weighted points of a residual under the Gaussian kernel: one step of the
// fixed-point iteration for pre-images, which takes b to s / f.
//
//   f_j = sum_q v_q k(b_j, t_q)        s_j = sum_q v_q k(b_j, t_q) t_q
//
// One pass over the points for all b_j, threaded, the same result for any number of threads.
#pragma once
#include <cstddef>

#include "base/parallel.hpp"

namespace maxmargin {

// Points t_q with their squared norms and weights v_q, rows of m x d numbers.
template <class Value>
struct WeightedPoints {
  const Value* values;
  const double* norms;
  const double* weights;
  std::size_t m, d;
};

// b: count x d; f: count; s: count x d
template <class Value>
void mean_shift(double gamma, const WeightedPoints<Value>& points, const Value* b,
                std::size_t count, double* f, double* s, Pool& pool);

}  // namespace maxmargin
