#include "kernel/starts.hpp"

#include <cmath>
#include <cstdint>

namespace maxmargin {

namespace {

// Points and what is taken off r for each: its coefficient times its kernel row.
struct Change {
  std::vector<std::int64_t> points;
  std::vector<double> coefficients;
  void add(std::size_t i, double growth) {
    points.push_back(static_cast<std::int64_t>(i));
    coefficients.push_back(-growth);
  }
};

template <class F>
void each_point(const std::vector<Range>& ranges, F f) {
  for (const Range& range : ranges)
    for (std::size_t i = range.begin; i < range.end; ++i) f(i);
}

void apply(const Change& change, bool all_scaled, KernelRows& rows,
           const std::vector<Range>& ranges, const StartArrays& a, Pool& pool) {
  if (all_scaled)  // f becomes ratio * f, then the others are put right
    each_point(ranges, [&](std::size_t i) { a.r[i] = a.y[i] - a.ratio * (a.y[i] - a.r[i]); });
  add_rows(rows, change.points.data(), change.coefficients.data(), change.points.size(), ranges,
           a.r, pool);
}

}  // namespace

void start_expand(KernelRows& rows, const std::vector<Range>& ranges, const StartArrays& a,
                  Pool& pool) {
  Change bounded, inner;
  each_point(ranges, [&](std::size_t i) {
    if (a.c[i] != 0 && a.beta[i] == a.c[i])
      bounded.add(i, (a.ratio - 1) * a.beta[i]);
    else if (a.beta[i] != 0)
      inner.add(i, (1 - a.ratio) * a.beta[i]);
  });
  const bool all_scaled = 2 * inner.points.size() < bounded.points.size();
  apply(all_scaled ? inner : bounded, all_scaled, rows, ranges, a, pool);
  for (const std::int64_t i : bounded.points) a.beta[i] = a.new_c[i];
}

void start_cut(KernelRows& rows, const std::vector<Range>& ranges, const StartArrays& a,
               Pool& pool) {
  Change cut, others;  // what a cut changes; what is not simply scaled
  std::size_t kept = 0, bounded = 0;
  each_point(ranges, [&](std::size_t i) {
    const double beta = a.beta[i];
    if (beta == 0) return;
    if (std::abs(beta) <= std::abs(a.new_c[i])) {
      ++kept;
      others.add(i, (1 - a.ratio) * beta);
      return;
    }
    cut.add(i, a.new_c[i] - beta);
    if (beta == a.c[i])
      ++bounded;
    else
      others.add(i, a.new_c[i] - a.ratio * beta);
  });
  const bool all_scaled = kept < bounded;
  apply(all_scaled ? others : cut, all_scaled, rows, ranges, a, pool);
  for (const std::int64_t i : cut.points) a.beta[i] = a.new_c[i];
}

}  // namespace maxmargin
