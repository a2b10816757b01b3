// The two products every method is made of, and those with a Hessian.
// Threaded, float64 sums, the same result for any number of threads.
#pragma once
#include <cstddef>

#include "base/parallel.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// p = X w                        w has rows.width() entries, p has n
void predict(const Rows& rows, const double* w, double* p, Pool& pool);

// a = X^T l                      rows with l_i = 0 cost nothing
void combine(const Rows& rows, const double* l, double* a, Pool& pool);

// a += X^T l                     for rows that come in blocks
void combine_onto(const Rows& rows, const double* l, double* a, Pool& pool);

// out_i = ||x_i||^2
void squared_norms(const Rows& rows, double* out, Pool& pool);

// out = sum_i h_i <x_i, v> x_i   one pass over the rows with h_i > 0; with `image` over all rows,
// which receives X v.
void hessian_product(const Rows& rows, const double* h, const double* v, double* out, Pool& pool,
                     double* image = nullptr);

}  // namespace maxmargin
