#include "rows/rows.hpp"

#include <string>

#include "base/check.hpp"

namespace maxmargin {

namespace {

// Columns that increase along a row are all in [0, d) if its first and last are.
template <class Index>
MAXMARGIN_INLINE void check_csr(const Index* starts, std::size_t n, const Index* indices,
                                std::size_t d) {
  for (std::size_t i = 0; i < n; ++i) {
    const Index begin = starts[i], end = starts[i + 1];
    if (begin > end)
      throw InvalidInput("the row starts of the CSR matrix decrease at row " + std::to_string(i));
    if (begin == end) continue;
    Index disorder = 0;
#pragma omp simd reduction(+ : disorder)
    for (Index q = begin + 1; q < end; ++q) disorder += indices[q - 1] >= indices[q] ? 1 : 0;
    if (disorder != 0) throw Unordered(i);
    const Index least = indices[begin], most = indices[end - 1];
    if (least < 0 || static_cast<std::size_t>(most) >= d)
      throw InvalidInput("the CSR matrix has column " + std::to_string(least < 0 ? least : most) +
                         "; expected 0 to " + std::to_string(d) + " - 1");
  }
}

}  // namespace

MAXMARGIN_CLONES void check_structure(const std::int32_t* starts, std::size_t n,
                                      const std::int32_t* indices, std::size_t d) {
  check_csr(starts, n, indices, d);
}
MAXMARGIN_CLONES void check_structure(const std::int64_t* starts, std::size_t n,
                                      const std::int64_t* indices, std::size_t d) {
  check_csr(starts, n, indices, d);
}

}  // namespace maxmargin
