#include "losses/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "losses/pair_merge.hpp"

namespace maxmargin {

namespace {

// A query with this many rows is worked on by all threads, smaller ones are shared out among them.
constexpr std::size_t kLarge = 16384;
constexpr std::size_t kBatch = 4096;
// So few rows are always compared pair by pair. So few pairs are summed one by one for the value
// that a certificate states.
constexpr std::size_t kTiny = 32, kFewPairs = std::size_t{1} << 20;

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
  std::size_t most_merged = 0;
  for (std::size_t q = 0; q < queries; ++q) {
    add_ranks(q, target, place.data(), pool);
    if (is_merged(q)) most_merged = std::max(most_merged, size(q));
  }
  if (most_merged > 0) {
    merged_.resize(most_merged + 2);
    found_.resize(most_merged + 2);
  }

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

// Whether a query is large and has two ranks without weights.
bool PairLoss::is_merged(std::size_t q) const {
  return size(q) >= kLarge && rank_starts_[q + 1] - rank_starts_[q] == 2 && weight_.empty();
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
  return looks <= kFewPairs;
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
  if (is_merged(q))
    merge_two_ranks(sweep(q), {merged_.data(), found_.data()}, pool);
  else
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
