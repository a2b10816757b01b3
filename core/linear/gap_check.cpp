// Gap checks of the cached loops: sums over all rows with w and all dual variables frozen.
#include <algorithm>
#include <array>
#include <cmath>

#include "linear/cached_loops.hpp"

namespace maxmargin {

namespace {
constexpr std::size_t kLinePoints = CachedLoops::kLine.size();
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
    problem.sums.alpha += problem.sums.lost;
    problem.lost = {};
  }
}

template <class Entries>
void CachedLoops::add_to_dual(Problem& problem, const PackedRow& row, const Entries& x) {
  double a = problem.alpha.get(row.id);
  const double top = problem.alpha.top(row.cost);
  if (!(a >= 0 && a <= top)) a = problem.alpha.set(row.id, a > top ? top : 0.0);
  if (a == 0) return;
  add_compensated(a, problem.sums.alpha, problem.sums.lost);
  problem.sums.reach += a * std::sqrt(row.norm);
  ++problem.sums.terms;
  x.add(row.code == problem.positive ? a : -a, problem.w, problem.lost.data());
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
    with_access(format_, [&](auto access) {
      for (std::size_t r = range.begin; r < range.end; ++r) {
        const PackedRow* row = row_at(r);
        if (!row) continue;
        const auto x = access(*row);
        const double y = row->code == problem.positive ? row->cost : -row->cost;
        const double to = y * x.dot(line.to[k]), from = y * x.dot(line.from[k]);
        for (std::size_t g = 0; g < kLinePoints; ++g)
          sum[g] += std::max(row->cost - (from + kLine[g] * (to - from)), 0.0);  // NaN stays NaN
        add_to_dual(problem, *row, x);
        const double G = to / (row->cost > 0 ? row->cost : 1.0) - 1;
        wanted_[k * stride + r - range.begin] =
            informative(problem, *row, problem.alpha.get(row->id), G) ? 1 : 0;
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
