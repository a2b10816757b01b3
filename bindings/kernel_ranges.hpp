// Ranges of points as arrays of (begin, end).
#pragma once
#include <string>
#include <vector>

#include "common.hpp"
#include "kernel/rows.hpp"

namespace maxmargin {

using RangeArray = nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

inline std::vector<Range> ranges_of(const RangeArray& ranges, std::size_t n) {
  std::vector<Range> result;
  for (std::size_t k = 0; k < ranges.shape(0); ++k) {
    const std::int64_t begin = ranges(k, 0), end = ranges(k, 1);
    check(begin >= 0 && begin <= end && static_cast<std::size_t>(end) <= n,
          "the range [" + std::to_string(begin) + ", " + std::to_string(end) +
              ") of points lies outside [0, " + std::to_string(n) + ")");
    if (begin < end)
      result.push_back({static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
  }
  return result;
}

}  // namespace maxmargin
