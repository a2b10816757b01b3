// Gap checks of the cached loops: sums over all rows with w and all dual variables frozen.
#include <algorithm>
#include <array>
#include <cmath>

#include "linear/cached_loops.hpp"

namespace maxmargin {

namespace {
constexpr std::size_t kLinePoints = CachedLoops::kLine.size();

double bounded(double u) { return std::isfinite(u) ? u : 0.0; }

// f(r), but NaN where r is: a loss that compares would make 0 of it.
template <class Loss>
double value_of(const Loss& loss, double r) {
  return std::isnan(r) ? r : loss.value(r);
}
}  // namespace

void CachedLoops::start_check() {
  for (Problem& problem : problems_) {
    if (problem.finished) continue;
    problem.sums = DualSums();
    problem.lost.assign(format_.width(), 0.0);
    std::fill_n(problem.w, format_.width(), 0.0);
  }
}

void CachedLoops::end_check() {
  for (Problem& problem : problems_) {
    if (problem.finished) continue;
    for (std::size_t j = 0; j < format_.width(); ++j) problem.w[j] += problem.lost[j];
    problem.sums.value += problem.sums.lost;
    problem.lost = {};
  }
}

// Returns u_i, which is feasible from here on: 0 in place of what is no number.
template <class Loss, class Entries>
double CachedLoops::add_to_dual(Problem& problem, const Loss& loss, const PackedRow& row,
                                const Entries& x) {
  double u = problem.shares.get(row.id);
  if (!std::isfinite(u) || loss.clip(u) != u)
    u = problem.shares.set(loss, row.id, std::isnan(u) ? 0.0 : bounded(loss.clip(u)));
  if (u == 0 || row.cost == 0) return u;
  const auto [y, t] = seen(loss, problem, row);
  const double linear = t * u, conjugate = loss.conjugate(u), b = row.cost * u;
  add_compensated(row.cost * (linear - conjugate), problem.sums.value, problem.sums.lost);
  problem.sums.size += row.cost * (std::fabs(linear) + std::fabs(conjugate));
  problem.sums.reach += std::fabs(b) * std::sqrt(row.norm);
  ++problem.sums.terms;
  x.add(y * b, problem.w, problem.lost.data());
  return u;
}

// One task for each problem: each adds to a w of its own, in the order of the rows.
template <class RowAt>
void CachedLoops::check_rows(RowAt row_at, Range range, const Line& line, double* losses,
                             Pool& pool) {
  const std::size_t stride = range.end - range.begin;
  wanted_.assign(problems_.size() * stride, 0);
  pool.run(problems_.size(), [&](std::size_t k) {
    Problem& problem = problems_[k];
    if (problem.finished) return;
    std::array<double, kLinePoints> sum{};
    with_loss(format_, problem.loss, [&](const auto& loss, auto access) {
      for (std::size_t r = range.begin; r < range.end; ++r) {
        const PackedRow* row = row_at(r);
        if (!row || problem.leaves_out(*row)) continue;
        const auto x = access(*row);
        const auto [y, t] = seen(loss, problem, *row);
        const double to = y * x.dot(line.to[k]), from = y * x.dot(line.from[k]);
        for (std::size_t g = 0; g < kLinePoints; ++g)
          sum[g] += row->cost * value_of(loss, t - (from + kLine[g] * (to - from)));
        const double u = add_to_dual(problem, loss, *row, x), left = t - to;
        const Interval slopes = loss.conjugate_slope(u), G{slopes.low - left, slopes.high - left};
        const double gap = row->cost * (loss.value(left) - u * left + loss.conjugate(u));
        wanted_[k * stride + r - range.begin] = informative(loss, problem, *row, G, gap) ? 1 : 0;
      }
    });
    for (std::size_t g = 0; g < kLinePoints; ++g) losses[k * kLinePoints + g] += sum[g];
  });
  for (std::size_t r = range.begin; r < range.end; ++r)
    if (const PackedRow* row = row_at(r)) take(*row, &wanted_[r - range.begin], stride);
}

void CachedLoops::check_gap(const PackedBlock& block, const Line& line, double* losses,
                            Pool& pool) {
  if (block.n() == 0) return;
  check_block(block);
  check_rows([&](std::size_t r) { return &block.row(r); }, {0, block.n()}, line, losses, pool);
}

void CachedLoops::check_gap_in_cache(const Line& line, double* losses, Pool& pool) {
  check(complete(), "not all rows are in the cache");
  const std::size_t slots = cache_.slots();
  const auto row_at = [&](std::size_t slot) -> const PackedRow* {
    const auto number = static_cast<std::uint32_t>(slot);
    return cache_.holds(number) ? &cache_.row(number) : nullptr;
  };
  for (std::size_t begin = 0; begin < slots; begin += chunk_)
    check_rows(row_at, {begin, std::min(begin + chunk_, slots)}, line, losses, pool);
}

}  // namespace maxmargin
