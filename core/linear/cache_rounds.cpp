// Rounds over the cached rows of a problem: which rows take part, and in which order.
#include <limits>
#include <utility>

#include "linear/cached_loops.hpp"

namespace maxmargin {

namespace {
// Rows of the cache that a shuffle may keep together, and how many there must be for that.
constexpr std::size_t kUnit = 4, kManyRows = 4096;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

void CachedLoops::activate(Problem& problem, std::uint32_t slot) {
  if (problem.place.size() <= slot) {
    problem.place.reserve(cache_.max_slots());
    problem.order.reserve(cache_.max_slots());
    problem.place.resize(slot + 1, RowCache::kNone);
  }
  if (problem.place[slot] != RowCache::kNone) return;
  // It was visited just now: among those visited this round.
  auto& order = problem.order;
  order.push_back(slot);
  if (problem.cursor + 1 < order.size()) {
    std::swap(order.back(), order[problem.cursor]);
    problem.place[order.back()] = static_cast<std::uint32_t>(order.size() - 1);
  }
  problem.place[slot] = static_cast<std::uint32_t>(problem.cursor++);
  cache_.use(slot);
}

// The cache itself is told by the caller: it may be the one who asks.
void CachedLoops::deactivate(Problem& problem, std::uint32_t slot) {
  if (slot >= problem.place.size() || problem.place[slot] == RowCache::kNone) return;
  auto& order = problem.order;
  std::size_t hole = problem.place[slot];
  const auto fill = [&](std::size_t from) {
    if (from == hole) return;
    order[hole] = order[from];
    problem.place[order[hole]] = static_cast<std::uint32_t>(hole);
    hole = from;
  };
  if (hole < problem.cursor) fill(--problem.cursor);
  fill(order.size() - 1);
  order.pop_back();
  problem.place[slot] = RowCache::kNone;
}

void CachedLoops::next_round(Problem& problem) {
  // With all rows at hand the extremes of one round are those of all rows not set aside.
  if (complete() && problem.cursor > 0) {
    problem.upper = problem.most > 0 ? problem.most : kInfinity;
    problem.lower = problem.least < 0 ? problem.least : -kInfinity;
  }
  problem.most = problem.least = 0;
  problem.cursor = 0;
  shuffle(problem);
}

// Of many rows a few that lie side by side stay together: they share lines and pages of memory, and
// a visit is mostly a wait for those. (Slots that follow each other were filled one after the
// other, until rows are evicted; training fills them in random order.)
void CachedLoops::shuffle(Problem& problem) {
  auto& order = problem.order;
  std::size_t unit = 1;
  if (order.size() > kManyRows && 2 * order.size() > problem.place.size()) {
    unit = kUnit;
    order.clear();
    for (std::uint32_t slot = 0; slot < problem.place.size(); ++slot)
      if (problem.place[slot] != RowCache::kNone) order.push_back(slot);
  }
  problem.random.shuffle(order.data(), order.size() / unit, unit);
  for (std::size_t k = 0; k < order.size(); ++k)
    problem.place[order[k]] = static_cast<std::uint32_t>(k);
}

}  // namespace maxmargin
