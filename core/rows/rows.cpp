#include "rows/rows.hpp"

#include <string>

#include "base/check.hpp"

namespace maxmargin {

namespace {

template <class Index>
MAXMARGIN_INLINE void check_csr(const Index* starts, std::size_t n, const Index* indices,
                                std::size_t d) {
  for (std::size_t i = 0; i < n; ++i)
    if (starts[i] > starts[i + 1])
      throw InvalidInput("the row starts of the CSR matrix decrease at row " + std::to_string(i));
  Index least = 0, most = -1;
#pragma omp simd reduction(min : least) reduction(max : most)
  for (Index q = starts[0]; q < starts[n]; ++q) {
    least = indices[q] < least ? indices[q] : least;
    most = indices[q] > most ? indices[q] : most;
  }
  for (std::size_t i = 0; i < n; ++i) {
    bool increasing = true;
    for (Index q = starts[i] + 1; q < starts[i + 1]; ++q) increasing &= indices[q - 1] < indices[q];
    if (!increasing)
      throw InvalidInput("the columns of row " + std::to_string(i) +
                         " of the CSR matrix do not increase: call X.sum_duplicates() first");
  }
  if (least < 0 || (most >= 0 && static_cast<std::size_t>(most) >= d))
    throw InvalidInput("the CSR matrix has column " + std::to_string(least < 0 ? least : most) +
                       "; expected 0 to " + std::to_string(d) + " - 1");
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
