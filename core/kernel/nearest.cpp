// The nearest columns of a row of distances.
#include <algorithm>

#include "base/clones.hpp"
#include "kernel/functions.hpp"

namespace maxmargin {

namespace {

// Counting is vectorised where leaving at the first find would not be.
MAXMARGIN_CLONES bool any_below(const float* d, std::size_t n, float bound) {
  std::int32_t below = 0;
#pragma omp simd reduction(+ : below)
  for (std::size_t j = 0; j < n; ++j) below += d[j] < bound ? 1 : 0;
  return below > 0;
}

}  // namespace

// The count smallest of one row, nearest first: a heap of the best so far, entered only by what
// beats its worst. Blocks that hold nothing better are skipped whole.
void nearest_of_row(const float* d, std::size_t width, std::size_t self, std::size_t count,
                    Heap& heap, std::int32_t* out) {
  heap.clear();
  constexpr std::size_t block = 64;
  for (std::size_t begin = 0; begin < width; begin += block) {
    const std::size_t end = std::min(width, begin + block);
    if (heap.size() == count && !any_below(d + begin, end - begin, heap.front().first)) continue;
    for (std::size_t j = begin; j < end; ++j) {
      if (j == self) continue;
      if (heap.size() < count) {
        heap.emplace_back(d[j], static_cast<std::int32_t>(j));
        std::push_heap(heap.begin(), heap.end());
      } else if (d[j] < heap.front().first) {
        std::pop_heap(heap.begin(), heap.end());
        heap.back() = {d[j], static_cast<std::int32_t>(j)};
        std::push_heap(heap.begin(), heap.end());
      }
    }
  }
  std::sort_heap(heap.begin(), heap.end());
  for (std::size_t k = 0; k < count; ++k) out[k] = k < heap.size() ? heap[k].second : -1;
}

void nearest_columns(const MatrixView& distances, std::size_t first, std::size_t count,
                     std::int32_t* nearest, Pool& pool) {
  const std::size_t parts =
      std::min(pieces(distances.n * distances.width), std::max<std::size_t>(distances.n, 1));
  pool.run(parts, [&](std::size_t part) {
    const Range range = part_of(distances.n, parts, part);
    Heap heap;
    heap.reserve(count + 1);
    for (std::size_t r = range.begin; r < range.end; ++r)
      nearest_of_row(distances.row(r), distances.width, first + r, count, heap,
                     nearest + r * count);
  });
}

}  // namespace maxmargin
