#include "losses/pair_sweep.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/clones.hpp"
#include "base/portable.hpp"
#include "losses/rank_counters.hpp"

namespace maxmargin {

namespace {

template <class Count>
MAXMARGIN_INLINE Count weight_of(const Sweep& sweep, const Item& item) {
  return sweep.weight ? static_cast<Count>(sweep.weight[item.row]) : Count(1);
}

// Rows ahead whose places in the counter are fetched: with many ranks these are cache misses.
constexpr std::size_t kAhead = 16;
constexpr std::size_t kBlock = 8;

// The rows about to be inserted, side by side for vector operations. Questions about a prefix that
// ends inside the block are answered by the counter for the rows before it plus a comparison with
// all rows of the block: no branch depends on where exactly the prefix ends.
struct Block {
  alignas(64) double value[kBlock], rank[kBlock], weight[kBlock];

  MAXMARGIN_INLINE void read(const Sweep& sweep, std::size_t begin, std::size_t count) {
    for (std::size_t k = 0; k < kBlock; ++k) {
      const Item& item = sweep.items[begin + std::min(k, count - 1)];
      value[k] = item.value;
      rank[k] = item.rank;
      weight[k] = k < count ? weight_of<double>(sweep, item) : 0.0;
    }
  }
  // Weight of rows k of rank < r with p - p_k >= 1.
  MAXMARGIN_INLINE double lower_and_far_below(double r, double p) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < kBlock; ++k)
      sum += ((rank[k] < r) & !(p - value[k] < 1)) ? weight[k] : 0.0;
    return sum;
  }
  // Weight of rows k of rank > r with p_k - p < 1.
  MAXMARGIN_INLINE double higher_and_not_far_above(double r, double p) const {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t k = 0; k < kBlock; ++k)
      sum += ((rank[k] > r) & (value[k] - p < 1)) ? weight[k] : 0.0;
    return sum;
  }
};

// Answers the questions about the first t rows for every t of the range; t = n belongs to the last.
// of_rank: weight of each rank before the range, or null where the range begins at 0.
// counter: empty, for all ranks of the query.
template <class Count, class Counter>
MAXMARGIN_INLINE void sweep_range(const Sweep& sweep, Range range, const double* of_rank,
                                  Counter& counter) {
  const Item* items = sweep.items;
  const std::size_t n = sweep.n;
  Count all = 0;
  std::size_t i = 0, j = 0;
  if (range.begin > 0) {
    counter.load(of_rank, sweep.ranks);
    all = static_cast<Count>(std::accumulate(of_rank, of_rank + sweep.ranks, 0.0));
    // Rows whose questions were about shorter prefixes belong to earlier ranges.
    const double last = items[range.begin - 1].value;
    const auto asked_plus = [last](const Item& x) { return x.value - last < 1; };
    const auto asked_minus = [last](const Item& x) { return !(last - x.value < 1); };
    i = static_cast<std::size_t>(std::partition_point(items, items + n, asked_plus) - items);
    j = static_cast<std::size_t>(std::partition_point(items, items + n, asked_minus) - items);
  }
  Block block;
  for (std::size_t t = range.begin; t < range.end; t += kBlock) {
    const std::size_t count = std::min(kBlock, range.end - t);
    const bool is_last = t + count == n;
    const double last = items[t + count - 1].value;
    block.read(sweep, t, count);
    for (std::size_t k = t + kBlock; k < std::min(t + 2 * kBlock, range.end); ++k)
      counter.prefetch(items[k].rank);
    for (; i < n && (is_last || items[i].value - last < 1); ++i) {
      const Item item = items[i];
      const std::uint32_t ahead = items[std::min(i + kAhead, n - 1)].rank;
      counter.prefetch(ahead);
      prefetch_read(sweep.below + ahead);
      sweep.plus[i] = sweep.below[item.rank] - static_cast<double>(counter.below(item.rank)) -
                      block.lower_and_far_below(item.rank, item.value);
    }
    for (; j < n && (is_last || !(last - items[j].value < 1)); ++j) {
      const Item item = items[j];
      counter.prefetch(items[std::min(j + kAhead, n - 1)].rank);
      sweep.minus[j] = static_cast<double>(all - counter.upto(item.rank)) +
                       block.higher_and_not_far_above(item.rank, item.value);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const Count s = static_cast<Count>(block.weight[k]);
      counter.insert(items[t + k].rank, s);
      all += s;
    }
  }
}

MAXMARGIN_CLONES void sweep_two(const Sweep& sweep, Range range, const double* of_rank) {
  TwoRanks<std::int32_t> counter;
  sweep_range<std::int32_t>(sweep, range, of_rank, counter);
}
MAXMARGIN_CLONES void sweep_two_weighted(const Sweep& sweep, Range range, const double* of_rank) {
  TwoRanks<double> counter;
  sweep_range<double>(sweep, range, of_rank, counter);
}
MAXMARGIN_CLONES void sweep_many(const Sweep& sweep, Range range, const double* of_rank,
                                 RankTree<std::int32_t>& counter) {
  sweep_range<std::int32_t>(sweep, range, of_rank, counter);
}
MAXMARGIN_CLONES void sweep_many_weighted(const Sweep& sweep, Range range, const double* of_rank,
                                          RankTree<double>& counter) {
  sweep_range<double>(sweep, range, of_rank, counter);
}

}  // namespace

void run_sweep(const Sweep& sweep, Range range, const double* of_rank) {
  if (sweep.ranks <= 2) {
    (sweep.weight ? sweep_two_weighted : sweep_two)(sweep, range, of_rank);
  } else if (sweep.weight) {
    RankTree<double> counter(sweep.ranks);
    sweep_many_weighted(sweep, range, of_rank, counter);
  } else {
    RankTree<std::int32_t> counter(sweep.ranks);
    sweep_many(sweep, range, of_rank, counter);
  }
}

// The sweep cut into parts by number of rows. The ranks of each part are counted first, so that a
// part knows what was inserted before it.
void run_sweep(const Sweep& sweep, Pool& pool) {
  // With as many ranks as rows these counts cost as much as a good share of the sweep: few parts.
  const std::size_t least = 16 * sweep.ranks < sweep.n ? 8192 : 32768;
  const std::size_t parts = pieces(sweep.n, least, sweep.ranks < 65536 ? 16 : 4);
  std::vector<double> of_rank(parts * sweep.ranks);
  pool.run(parts - 1, [&](std::size_t t) {
    double* after = of_rank.data() + (t + 1) * sweep.ranks;
    const Range range = part_of(sweep.n, parts, t);
    for (std::size_t k = range.begin; k < range.end; ++k)
      after[sweep.items[k].rank] += weight_of<double>(sweep, sweep.items[k]);
  });
  for (std::size_t k = 2 * sweep.ranks; k < of_rank.size(); ++k)
    of_rank[k] += of_rank[k - sweep.ranks];
  pool.run(parts, [&](std::size_t t) {
    run_sweep(sweep, part_of(sweep.n, parts, t), of_rank.data() + t * sweep.ranks);
  });
}

}  // namespace maxmargin
