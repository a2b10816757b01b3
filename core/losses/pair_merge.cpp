// The counts of `run_sweep` where there are two ranks and no weights, by merging.
//
// In ascending order of p, with a over the higher rank and b over the lower one, the question
// "p_a - p_b < 1?" alone decides which of both is done with: if it is so, a misses its margin with
// b and all that follow, and c+_a is known; if not, no further a misses it with b, and c-_b is
// known. That is n steps. Which way they go cannot be foretold, so there is no branch, and several
// chains of steps, which begin where a search finds them, hide the latency of each other.
#include "losses/pair_merge.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kChains = 4;  // side by side in a task

struct Place {
  std::size_t a = 0, b = 0;
  std::size_t steps() const { return a + b; }
};

// Both ranks in ascending order, each with a sentinel that the other never passes.
struct Lists {
  const double *lower, *higher;
  std::size_t lowers, highers;
  std::uint32_t* found;  // of every lower row, then of every higher one

  // Where chain k of `count` begins: at a place that the single chain passes.
  Place start(std::size_t k, std::size_t count) const {
    Place at;
    if (k == 0) return at;
    if (highers > lowers) {
      at.a = highers * k / count;
      const double value = higher[at.a];
      at.b = static_cast<std::size_t>(
          std::partition_point(lower, lower + lowers,
                               [value](double other) { return !(value - other < 1); }) -
          lower);
    } else {
      at.b = lowers * k / count;
      const double value = lower[at.b];
      at.a = static_cast<std::size_t>(
          std::partition_point(higher, higher + highers,
                               [value](double other) { return other - value < 1; }) -
          higher);
    }
    return at;
  }

  MAXMARGIN_INLINE void step(Place& at) const {
    const std::size_t missed = higher[at.a] - lower[at.b] < 1 ? 1 : 0,
                      mask = std::size_t{0} - missed;
    const std::size_t place = at.b + (mask & (lowers + 1 + at.a - at.b));
    found[place] = static_cast<std::uint32_t>(at.a + (mask & (at.b - at.a)));
    at.a += missed;
    at.b += 1 - missed;
  }
};

void run_chains(const Lists& lists, std::size_t first, std::size_t count) {
  Place at[kChains];
  std::size_t left[kChains];
  for (std::size_t c = 0; c < kChains; ++c) {
    at[c] = lists.start(first + c, count);
    const std::size_t next = first + c + 1;
    const std::size_t end =
        next == count ? lists.lowers + lists.highers : lists.start(next, count).steps();
    left[c] = end - at[c].steps();
  }
  const std::size_t together = *std::min_element(left, left + kChains);
  for (std::size_t s = 0; s < together; ++s)
    for (std::size_t c = 0; c < kChains; ++c) lists.step(at[c]);
  for (std::size_t c = 0; c < kChains; ++c)
    for (std::size_t s = together; s < left[c]; ++s) lists.step(at[c]);
}

}  // namespace

void merge_two_ranks(const Sweep& sweep, const MergeMemory& memory, Pool& pool) {
  const Item* items = sweep.items;
  const std::size_t n = sweep.n, lowers = static_cast<std::size_t>(sweep.below[1]);
  const std::size_t parts = pieces(n);
  double *lower = memory.values, *higher = memory.values + lowers + 1;
  std::vector<std::size_t> highers_before(parts + 1);
  pool.run(parts, [&](std::size_t t) {
    const Range range = part_of(n, parts, t);
    std::size_t count = 0;
    for (std::size_t k = range.begin; k < range.end; ++k) count += items[k].rank;
    highers_before[t + 1] = count;
  });
  for (std::size_t t = 0; t < parts; ++t) highers_before[t + 1] += highers_before[t];
  pool.run(parts, [&](std::size_t t) {
    const Range range = part_of(n, parts, t);
    std::size_t a = highers_before[t], b = range.begin - a;
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const std::size_t rank = items[k].rank, mask = std::size_t{0} - rank;
      lower[b + (mask & (lowers + 1 + a - b))] = items[k].value;
      a += rank;
      b += 1 - rank;
    }
  });
  lower[lowers] = higher[n - lowers] = std::numeric_limits<double>::infinity();

  const Lists lists{lower, higher, lowers, n - lowers, memory.found};
  pool.run(parts, [&](std::size_t t) { run_chains(lists, t * kChains, parts * kChains); });

  const std::uint32_t *of_lower = memory.found, *of_higher = memory.found + lowers + 1;
  pool.run(parts, [&](std::size_t t) {
    const Range range = part_of(n, parts, t);
    std::size_t a = highers_before[t], b = range.begin - a;
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const std::size_t rank = items[k].rank;
      sweep.plus[k] = rank ? sweep.below[1] - of_higher[a] : 0.0;
      sweep.minus[k] = rank ? 0.0 : of_lower[b];
      a += rank;
      b += 1 - rank;
    }
  });
}

}  // namespace maxmargin
