// Sums over rows of vectors or matrices, cut by the size of the data and added up in a fixed order.
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/parallel.hpp"

namespace maxmargin {

// Whether a sum begins at zero or goes on from what is there.
enum class From { zero, here };

// sum[j] = parts[0][j] + parts[1][j] + ..., in this order, or that on top of what sum holds
inline void add_up(const double* parts, std::size_t count, std::size_t length, double* sum,
                   Pool& pool, From from_where) {
  const std::size_t cuts = pieces(length);
  pool.run(cuts, [&](std::size_t k) {
    const Range range = part_of(length, cuts, k);
    std::size_t part = 0;
    if (from_where == From::zero) {
      std::copy(parts + range.begin, parts + range.end, sum + range.begin);
      part = 1;
    }
    for (; part < count; ++part) {
      const double* from = parts + part * length;
#pragma omp simd
      for (std::size_t j = range.begin; j < range.end; ++j) sum[j] += from[j];
    }
  });
}

// Runs accumulate(range, part) over pieces of the rows, each into zeroed memory, and adds them up.
// The last rows come first: a product before this one ended there and left them in a cache, and the
// next one will begin where this one ends.
template <class Accumulate>
void sum_over_rows(std::size_t n, std::size_t parts, std::size_t length, double* sum, Pool& pool,
                   Accumulate accumulate, From from = From::zero) {
  if (parts == 1) {
    if (from == From::zero) std::fill_n(sum, length, 0.0);
    pool.run(1, [&](std::size_t) { accumulate(Range{0, n}, sum); });
    return;
  }
  double* memory = pool.scratch(parts * length);
  pool.run(parts, [&](std::size_t task) {
    const std::size_t k = parts - 1 - task;
    double* part = memory + k * length;
    std::fill_n(part, length, 0.0);
    accumulate(part_of(n, parts, k), part);
  });
  add_up(memory, parts, length, sum, pool, from);
}

}  // namespace maxmargin
