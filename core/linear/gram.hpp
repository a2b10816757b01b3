// The weighted Gram matrix of rows, for Newton's systems. Threaded, the same result for any number
// of threads.
#pragma once
#include <cstddef>

#include "base/parallel.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// What the matrix is for. A Newton direction solves (I + H) x = g: float32 products, summed in
// float64, will do as long as their rounding is small beside I. Where it is not, and for `values`,
// all is float64.
enum class GramUse { values, direction };

// H = sum_i h_i x_i x_i^T with h_i >= 0: width x width, row-major, both triangles; rows with
// h_i = 0 cost nothing. every > 1 takes only every so many of the other rows, each standing for
// `every` of them.
void gram(const Rows& rows, const double* h, std::size_t every, GramUse use, double* H, Pool& pool);

// What a row of `gram` for a direction costs, in multiplications by one entry of a row.
double gram_steps_per_row(const Rows& rows);

}  // namespace maxmargin
