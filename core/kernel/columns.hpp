// Kernel values of all rows with a few points that are not among them: columns of a kernel
// subspace. O(n d) a point, threaded over the rows, the same result for any number of threads.
#pragma once
#include <cstddef>

#include "base/parallel.hpp"
#include "kernel/functions.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// Points b_1 .. b_m (rows of `values`, d entries each) with their squared norms.
struct PointsView {
  const double* values;
  const double* norms;
  std::size_t m, d;
};

// out[q][i] = k(x_i, b_q) in float64, out of shape (m, n). Distances of dense rows are summed
// directly, not from norms and products, so that points far from the origin keep their digits;
// `norms` are the squared norms of the rows, for all other cases.
void kernel_columns(const KernelFunction& k, const Rows& rows, const double* norms,
                    const PointsView& points, double* out, Pool& pool);

}  // namespace maxmargin
