// One sweep over the rows of a query in ascending order of their predictions: c+ and c- of each
// (Algorithm 2 of Joachims 2006, all ranks in one sweep).
#pragma once
#include <cstddef>

#include "base/parallel.hpp"
#include "losses/order.hpp"

namespace maxmargin {

// What one sweep over a query reads and writes.
struct Sweep {
  const Item* items;  // ascending
  std::size_t n;      // all of the query
  std::size_t ranks;
  const double* weight;  // by row, or null
  const double* below;   // by rank: weight of lower ranks in the whole query
  double *plus, *minus;
};

// The questions about the first t rows for every t of the range; `of_rank` is the weight of each
// rank before the range, or null where the range begins at 0.
void run_sweep(const Sweep& sweep, Range range, const double* of_rank);
// The whole of a large query, by all threads.
void run_sweep(const Sweep& sweep, Pool& pool);

}  // namespace maxmargin
