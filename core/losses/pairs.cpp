#include "losses/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/check.hpp"
#include "base/clones.hpp"

namespace maxmargin {

namespace {

// A query with this many rows is worked on by all threads, smaller ones are shared out among them.
constexpr std::size_t kLarge = 32768;
constexpr std::size_t kBatch = 4096;

// ---------------------------------------------------------------- counters of ranks
// insert(r, s): a row of rank r and weight s joins. below(r), upto(r): weight of ranks < r, <= r.

template <class Count>
struct TwoRanks {
  Count lower = 0, all = 0;

  void load(const double* of_rank, std::size_t ranks) {
    lower = static_cast<Count>(of_rank[0]);
    all = lower + (ranks > 1 ? static_cast<Count>(of_rank[1]) : Count(0));
  }
  MAXMARGIN_INLINE void prefetch(std::uint32_t) const {}
  MAXMARGIN_INLINE void insert(std::uint32_t r, Count s) {
    lower += r == 0 ? s : Count(0);
    all += s;
  }
  MAXMARGIN_INLINE Count below(std::uint32_t r) const { return r == 0 ? Count(0) : lower; }
  MAXMARGIN_INLINE Count upto(std::uint32_t r) const { return r == 0 ? lower : all; }
};

constexpr std::size_t kFan = 16;

// steps[r][k] = 1 for k >= r: what an insertion at place r adds to the running sums of its block.
template <class Count>
struct Steps {
  alignas(64) Count at[kFan + 1][kFan];
  constexpr Steps() : at() {
    for (std::size_t r = 0; r <= kFan; ++r)
      for (std::size_t k = 0; k < kFan; ++k) at[r][k] = k >= r ? Count(1) : Count(0);
  }
};

// A tree with 16 children a node that keeps running sums inside every node: a question reads one
// number a level, an insertion updates one node a level with a few vector operations. A Fenwick
// tree would take four times as many levels, each with a branch.
template <class Count>
class RankTree {
 public:
  explicit RankTree(std::size_t ranks) {
    // Place r + 1 belongs to rank r, so that below(r) is the running sum at place r.
    std::size_t nodes = ranks + 1;
    do {
      nodes = (nodes + kFan - 1) / kFan;
      level_[levels_++].resize(nodes);
    } while (nodes > 1);
  }

  // The state after weights of_rank[r] have been inserted into an empty tree.
  void load(const double* of_rank, std::size_t ranks) {
    for (std::size_t r = 0; r < ranks; ++r) {
      const Count s = static_cast<Count>(of_rank[r]);
      std::size_t place = r + 1;
      level_[0][place / kFan].sum[place % kFan] += s;
      for (std::size_t h = 1; h < levels_; ++h) {
        place /= kFan;
        if (place % kFan + 1 < kFan) level_[h][place / kFan].sum[place % kFan + 1] += s;
      }
    }
    for (std::size_t h = 0; h < levels_; ++h)
      for (Node& node : level_[h]) std::partial_sum(node.sum, node.sum + kFan, node.sum);
  }

  MAXMARGIN_INLINE void prefetch(std::uint32_t r) const {
    __builtin_prefetch(&level_[0][(std::size_t{r} + 1) / kFan]);
  }
  MAXMARGIN_INLINE void insert(std::uint32_t r, Count s) {
    std::size_t place = r + 1;
    add(level_[0][place / kFan], kSteps.at[place % kFan], s);
    for (std::size_t h = 1; h < levels_; ++h) {
      place /= kFan;
      add(level_[h][place / kFan], kSteps.at[place % kFan + 1], s);
    }
  }
  MAXMARGIN_INLINE Count below(std::uint32_t r) const { return sum_to(r); }
  MAXMARGIN_INLINE Count upto(std::uint32_t r) const { return sum_to(std::size_t{r} + 1); }

 private:
  struct alignas(64) Node {
    Count sum[kFan] = {};
  };
  static constexpr Steps<Count> kSteps{};

  MAXMARGIN_INLINE static void add(Node& node, const Count* step, Count s) {
#pragma omp simd
    for (std::size_t k = 0; k < kFan; ++k) node.sum[k] += s * step[k];
  }
  MAXMARGIN_INLINE Count sum_to(std::size_t place) const {
    Count sum = level_[0][place / kFan].sum[place % kFan];
    for (std::size_t h = 1; h < levels_; ++h) {
      place /= kFan;
      sum += level_[h][place / kFan].sum[place % kFan];
    }
    return sum;
  }

  // level_[0] has a place for each rank, level_[h] one for each node of level h - 1: the sum of the
  // nodes before it under the same parent.
  std::vector<Node> level_[8];
  std::size_t levels_ = 0;
};

// ---------------------------------------------------------------- the sweep

struct PairRow {
  double value, rank, weight;
};
struct PairSums {
  double plus = 0, minus = 0, loss = 0;
};

// c+, c- and the loss of one row with all others of its query, pair by pair.
MAXMARGIN_CLONES PairSums pairs_of(PairRow row, const PairRow* others, std::size_t count) {
  double plus = 0, minus = 0, loss = 0;
#pragma omp simd reduction(+ : plus, minus, loss)
  for (std::size_t k = 0; k < count; ++k) {
    const PairRow other = others[k];
    const double ahead = row.value - other.value;
    const double lower = ((other.rank < row.rank) & (ahead < 1)) ? other.weight : 0.0;
    plus += lower;
    minus += ((other.rank > row.rank) & (-ahead < 1)) ? other.weight : 0.0;
    loss += lower * std::max(1 - ahead, 0.0);  // 0 where the difference is infinite
  }
  return {plus, minus, loss};
}

template <class Count>
MAXMARGIN_INLINE Count weight_of(const Sweep& sweep, const Item& item) {
  return sweep.weight ? static_cast<Count>(sweep.weight[item.row]) : Count(1);
}

// Rows ahead whose places in the counter are fetched: with many ranks these are cache misses.
constexpr std::size_t kAhead = 16;
constexpr std::size_t kBlock = 8;
// So few rows are always compared pair by pair. Pairs found by so many looks are for the value that
// a certificate states.
constexpr std::size_t kTiny = 32, kFewLooks = std::size_t{1} << 20;

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
      __builtin_prefetch(sweep.below + ahead);
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
  const std::size_t parts = pieces(sweep.n, 32768, sweep.ranks < 65536 ? 16 : 4);
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

}  // namespace

// ---------------------------------------------------------------- queries and their ranks

PairLoss::PairLoss(std::size_t n, const double* target, const std::uint32_t* query,
                   std::size_t queries, const double* weight, Pool& pool)
    : n_(n), starts_(queries + 1), rank_starts_(queries + 1), members_(n), ranks_(n) {
  check(n < (std::size_t{1} << 31),
        std::to_string(n) + " rows; pairs of at most 2^31 - 1 rows can be counted");
  if (weight) weight_.assign(weight, weight + n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t q = query ? query[i] : 0;
    if (q >= queries)  // the message is not made for every row
      check(false, "query " + std::to_string(q) + " of row " + std::to_string(i) +
                       " is outside 0 .. " + std::to_string(queries) + " - 1");
    ++starts_[q + 1];
  }
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
  std::vector<std::uint32_t> place(n);  // of each row among the members
  for (std::size_t i = 0; i < n; ++i) {
    place[i] = static_cast<std::uint32_t>(next[query ? query[i] : 0]++);
    members_[place[i]] = static_cast<std::uint32_t>(i);
  }

  items_.resize(n);
  spare_.resize(n);
  plus_.resize(n);
  minus_.resize(n);
  pairs_.assign(queries, 0.0);
  weights_.assign(queries, 0.0);
  scale_.assign(queries, 1.0);
  for (std::size_t q = 0; q < queries; ++q) add_ranks(q, target, place.data(), pool);

  batches_.push_back(0);
  for (std::size_t q = 0; q < queries; ++q)
    if (q + 1 == queries || size(q + 1) >= kLarge || size(q) >= kLarge ||
        starts_[q + 1] - starts_[batches_.back()] >= kBatch)
      batches_.push_back(q + 1);
}

// Ranks of query q in the order of its members; the weight below each; the weight of its pairs.
void PairLoss::add_ranks(std::size_t q, const double* target, const std::uint32_t* place,
                         Pool& pool) {
  const std::size_t begin = starts_[q], count = size(q);
  order_rows(target, {count, &members_[begin], nullptr}, &items_[begin], &spare_[begin], pool);
  double all = 0, below = 0, of_rank = 0;  // of rows so far, of lower ranks, of this rank
  std::uint32_t rank = 0;
  for (std::size_t k = begin; k < begin + count; ++k) {
    if (k == begin || items_[k].value != items_[k - 1].value) {
      pairs_[q] += of_rank * below;
      rank = k == begin ? 0 : rank + 1;
      below_.push_back(below = all);
      of_rank = 0;
    }
    const double s = weight_.empty() ? 1.0 : weight_[items_[k].row];
    of_rank += s;
    all += s;
    ranks_[place[items_[k].row]] = rank;
  }
  pairs_[q] += of_rank * below;
  weights_[q] = all;
  rank_starts_[q + 1] = below_.size();
}

// ---------------------------------------------------------------- value and subgradient

Selection PairLoss::selection(std::size_t q) const {
  // Members of the only query are all rows in their order.
  return {size(q), queries() == 1 ? nullptr : &members_[starts_[q]], &ranks_[starts_[q]]};
}

Sweep PairLoss::sweep(std::size_t q) {
  const std::size_t begin = starts_[q];
  return {&items_[begin],
          size(q),
          rank_starts_[q + 1] - rank_starts_[q],
          weight_.empty() ? nullptr : weight_.data(),
          &below_[rank_starts_[q]],
          &plus_[begin],
          &minus_[begin]};
}

// From counts to the subgradient and the value of items_[range]. sum_i s_i (c+_i - c-_i) = 0, so
// predictions may be taken relative to a centre, which keeps large common offsets out of the sum.
double PairLoss::finish(std::size_t q, Range range, double centre, double* l) const {
  double value = 0;
  for (std::size_t k = range.begin; k < range.end; ++k) {
    const Item& item = items_[k];
    const double c = weight_.empty() ? scale_[q] : scale_[q] * weight_[item.row];
    const double balance = plus_[k] - minus_[k];
    l[item.row] = -c * balance;
    value += c * (plus_[k] - balance * (item.value - centre));
  }
  return value;
}

bool PairLoss::has_few_pairs() const {
  std::size_t looks = 0;
  for (std::size_t q = 0; q < queries(); ++q) looks += size(q) * size(q);
  return looks <= kFewLooks;
}

double PairLoss::value(const double* p) const {
  double sum = 0;
  for (std::size_t q = 0; q < queries(); ++q) sum += by_pairs(q, p, nullptr);
  return sum;
}

double PairLoss::by_pairs(std::size_t q, const double* p, double* l) const {
  const std::size_t begin = starts_[q], m = size(q);
  std::vector<PairRow> rows(m);
  for (std::size_t k = 0; k < m; ++k) {
    const std::size_t i = members_[begin + k];
    check_finite(std::isfinite(p[i]));
    rows[k] = {p[i], static_cast<double>(ranks_[begin + k]), weight_.empty() ? 1.0 : weight_[i]};
  }
  double value = 0;
  for (std::size_t k = 0; k < m; ++k) {
    const PairSums sums = pairs_of(rows[k], rows.data(), m);
    const double c = scale_[q] * rows[k].weight;
    if (l) l[members_[begin + k]] = -c * (sums.plus - sums.minus);
    value += c * sums.loss;
  }
  return value;
}

double PairLoss::evaluate_small(std::size_t q, const double* p, double* l) {
  const Range range{starts_[q], starts_[q + 1]};
  if (n_ <= kTiny) return by_pairs(q, p, l);
  if (pairs_[q] == 0 || scale_[q] == 0) {
    for (std::size_t k = range.begin; k < range.end; ++k) l[members_[k]] = 0;
    return 0;
  }
  order_rows(p, selection(q), &items_[range.begin], &spare_[range.begin]);
  run_sweep(sweep(q), {0, size(q)}, nullptr);
  return finish(q, range, items_[range.begin + size(q) / 2].value, l);
}

double PairLoss::evaluate_large(std::size_t q, const double* p, double* l, Pool& pool) {
  const std::size_t begin = starts_[q], count = size(q);
  order_rows(p, selection(q), &items_[begin], &spare_[begin], pool);
  run_sweep(sweep(q), pool);
  const std::size_t parts = pieces(count);
  const double centre = items_[begin + count / 2].value;
  std::vector<double> values(parts);
  pool.run(parts, [&](std::size_t t) {
    const Range part = part_of(count, parts, t);
    values[t] = finish(q, {begin + part.begin, begin + part.end}, centre, l);
  });
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double PairLoss::evaluate(const double* p, double* l, Pool& pool) {
  std::vector<double> values(queries());
  pool.run(batches_.size() - 1, [&](std::size_t t) {
    for (std::size_t q = batches_[t]; q < batches_[t + 1]; ++q)
      if (size(q) < kLarge || pairs_[q] == 0) values[q] = evaluate_small(q, p, l);
  });
  for (std::size_t q = 0; q < queries(); ++q)
    if (size(q) >= kLarge && pairs_[q] != 0) values[q] = evaluate_large(q, p, l, pool);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace maxmargin
