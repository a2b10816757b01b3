// Rows in the order of their predictions: what every loss over pairs or tables starts from.
//
// Values are spread over buckets by interpolation between the least and the greatest, then each
// bucket is sorted by itself: linear time for the distributions predictions have. Buckets that stay
// crowded are spread again and, if that does not help, sorted by comparison: O(n log n) always.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace maxmargin {

struct Item {
  double value;        // prediction of the row
  std::uint32_t row;   // which row
  std::uint32_t rank;  // rank of its target within its query; 0 where there are none
};

// Rows to be put in order: the rows themselves and their ranks. A null `rows` means 0 .. count - 1,
// a null `ranks` means all 0.
struct Selection {
  std::size_t count = 0;
  const std::uint32_t* rows = nullptr;
  const std::uint32_t* ranks = nullptr;

  std::uint32_t row(std::size_t k) const { return rows ? rows[k] : static_cast<std::uint32_t>(k); }
  std::uint32_t rank(std::size_t k) const { return ranks ? ranks[k] : 0; }
};

// Throws InvalidInput unless predictions are finite.
void check_finite(bool finite);

// Fills items[0 .. count) with the selected rows in ascending order of p[row]. spare has the same
// length and is overwritten. Throws InvalidInput if a prediction is not finite.
void order_rows(const double* p, const Selection& selection, Item* items, Item* spare);

// The same with many threads, for selections of tens of thousands of rows and more. The result does
// not depend on the number of threads.
void order_rows(const double* p, const Selection& selection, Item* items, Item* spare, Pool& pool);

}  // namespace maxmargin
