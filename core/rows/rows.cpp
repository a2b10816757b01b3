#include "rows/rows.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.hpp"

namespace maxmargin {

namespace {

// Columns that increase along a row are all in [0, d) if its first and last are.
template <class Index>
MAXMARGIN_INLINE bool is_sound(const Index* starts, std::size_t i, const Index* indices,
                               std::size_t entries, std::size_t d) {
  const Index begin = starts[i], end = starts[i + 1];
  if (begin < 0 || begin > end || static_cast<std::size_t>(end) > entries) return false;
  if (begin == end) return true;
  Index disorder = 0;
#pragma omp simd reduction(+ : disorder)
  for (Index q = begin + 1; q < end; ++q) disorder += indices[q - 1] >= indices[q] ? 1 : 0;
  return disorder == 0 && indices[begin] >= 0 && static_cast<std::size_t>(indices[end - 1]) < d;
}

// The end of the range if all rows are sound. (Nothing is thrown here: GCC takes functions compiled
// for several targets for ones that never throw.)
template <class Index>
MAXMARGIN_INLINE std::size_t first_unsound(const Index* starts, Range range, const Index* indices,
                                           std::size_t entries, std::size_t d) {
  std::size_t i = range.begin;
  while (i < range.end && is_sound(starts, i, indices, entries, d)) ++i;
  return i;
}
MAXMARGIN_CLONES std::size_t unsound_in(const std::int32_t* starts, Range range,
                                        const std::int32_t* indices, std::size_t entries,
                                        std::size_t d) {
  return first_unsound(starts, range, indices, entries, d);
}
MAXMARGIN_CLONES std::size_t unsound_in(const std::int64_t* starts, Range range,
                                        const std::int64_t* indices, std::size_t entries,
                                        std::size_t d) {
  return first_unsound(starts, range, indices, entries, d);
}

// Whether a row and its columns, in whatever order, lie inside their arrays.
template <class Index>
bool is_inside(const Index* starts, std::size_t i, const Index* indices, std::size_t entries,
               std::size_t d) {
  const Index begin = starts[i], end = starts[i + 1];
  if (begin < 0 || begin > end || static_cast<std::size_t>(end) > entries) return false;
  return std::all_of(indices + begin, indices + end,
                     [d](Index j) { return j >= 0 && static_cast<std::size_t>(j) < d; });
}

template <class Index>
[[noreturn]] void refuse(const Index* starts, std::size_t i, const Index* indices,
                         std::size_t entries, std::size_t d) {
  const Index begin = starts[i], end = starts[i + 1];
  if (begin > end)
    throw InvalidInput("the row starts of the CSR matrix decrease at row " + std::to_string(i));
  if (begin < 0 || static_cast<std::size_t>(end) > entries)
    throw InvalidInput("row " + std::to_string(i) + " of the CSR matrix lies outside its values");
  const Index* const column = std::find_if(indices + begin, indices + end, [d](Index j) {
    return j < 0 || static_cast<std::size_t>(j) >= d;
  });
  throw InvalidInput("row " + std::to_string(i) + " of the CSR matrix has column " +
                     std::to_string(*column) + "; expected 0 to " + std::to_string(d) + " - 1");
}

// Sums 0 x: it is 0 unless an x is infinite or no number.
template <class Value>
MAXMARGIN_INLINE Value zero_times(const Value* x, Range range) {
  Value sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = range.begin; i < range.end; ++i) sum += 0 * x[i];
  return sum;
}
MAXMARGIN_CLONES bool finite_part(const float* x, Range range) { return zero_times(x, range) == 0; }
MAXMARGIN_CLONES bool finite_part(const double* x, Range range) {
  return zero_times(x, range) == 0;
}

}  // namespace

template <class Index>
void check_structure(const Index* starts, std::size_t n, const Index* indices, std::size_t entries,
                     std::size_t d, Pool& pool) {
  const std::size_t parts = pieces(n);
  std::vector<std::size_t> found(parts, n);
  pool.run(parts, [&](std::size_t k) {
    const Range range = part_of(n, parts, k);
    const std::size_t row = unsound_in(starts, range, indices, entries, d);
    if (row < range.end) found[k] = row;
  });
  const std::size_t first = *std::min_element(found.begin(), found.end());
  if (first == n) return;
  // Whoever mends the order works on all rows, so the others must be safe to touch as well.
  for (std::size_t i = first; i < n; ++i)
    if (!is_inside(starts, i, indices, entries, d)) refuse(starts, i, indices, entries, d);
  throw Unordered(first);
}
template void check_structure(const std::int32_t*, std::size_t, const std::int32_t*, std::size_t,
                              std::size_t, Pool&);
template void check_structure(const std::int64_t*, std::size_t, const std::int64_t*, std::size_t,
                              std::size_t, Pool&);

template <class Value>
bool all_finite(const Value* x, std::size_t n, Pool& pool) {
  const std::size_t parts = pieces(n, 65536);
  std::vector<std::uint8_t> finite(parts);
  pool.run(parts, [&](std::size_t k) { finite[k] = finite_part(x, part_of(n, parts, k)); });
  return std::find(finite.begin(), finite.end(), 0) == finite.end();
}
template bool all_finite(const float*, std::size_t, Pool&);
template bool all_finite(const double*, std::size_t, Pool&);

}  // namespace maxmargin
