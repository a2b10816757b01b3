// The sweep of `pair_sweep.hpp` for two ranks without weights, several times as fast.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.hpp"
#include "losses/pair_sweep.hpp"

namespace maxmargin {

// Working memory: n + 2 numbers of both kinds.
struct MergeMemory {
  double* values;
  std::uint32_t* found;
};

// Fills sweep.plus and sweep.minus; there are rows of both ranks.
void merge_two_ranks(const Sweep& sweep, const MergeMemory& memory, Pool& pool);

}  // namespace maxmargin
