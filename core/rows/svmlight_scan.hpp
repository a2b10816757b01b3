// A quick look at svmlight text: how many rows, how wide, which index base. Values are not read and
// nothing is checked: whoever reads the rows does that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "base/parallel.hpp"

namespace maxmargin {

struct SvmlightScan {
  std::size_t rows = 0, entries = 0;  // entries: an upper bound
  std::size_t lines = 0;              // line ends
  std::uint64_t least_index = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t index_end = 0;  // one past the largest index

  SvmlightScan& operator+=(const SvmlightScan& other);
};

// Text that ends with a line end (the last line may lack it).
SvmlightScan scan_svmlight(std::string_view text, Pool& pool);

}  // namespace maxmargin
