#include "linear/inverse_forms.hpp"

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "linear/cholesky.hpp"
#include "linear/solve_lower.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kRows = 16;  // solved at a time: enough sums to hide what an addition takes

// X <- L^-1 X for kRows columns side by side.
MAXMARGIN_WIDE_CLONES void solve_side_by_side(const double* L, std::size_t d, double* x) {
  solve_lower<kRows>(L, d, d, x);
}

template <class View>
void forms_of(const View& rows, const std::uint32_t* chosen, std::size_t count, const double* L,
              double* x, double* out) {
  const std::size_t d = rows.width();
  std::fill_n(x, d * kRows, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    rows.each(chosen[i], [&](std::size_t j, double value) { x[j * kRows + i] = value; });
    if (rows.bias != 0) x[rows.d * kRows + i] = rows.bias;
  }
  solve_side_by_side(L, d, x);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < d; ++j) sum += x[j * kRows + i] * x[j * kRows + i];
    out[i] = sum;
  }
}

}  // namespace

bool inverse_forms(const Rows& rows, const std::uint32_t* chosen, std::size_t count, double* H,
                   double* out, Pool& pool) {
  const std::size_t d = shape(rows).width(), groups = (count + kRows - 1) / kRows;
  for (std::size_t m = 0; m < count; ++m)
    check(chosen[m] < shape(rows).n, "a chosen row is not among the rows");
  if (!cholesky_factor(H, d, pool)) return false;
  const std::size_t tasks = pieces(groups, 1);
  pool.run(tasks, [&](std::size_t task) {
    const Range range = part_of(groups, tasks, task);
    std::vector<double> x(d * kRows);
    for (std::size_t group = range.begin; group < range.end; ++group) {
      const std::size_t first = group * kRows, size = std::min(kRows, count - first);
      std::visit(
          [&](const auto& view) { forms_of(view, chosen + first, size, H, x.data(), out + first); },
          rows);
    }
  });
  return true;
}

}  // namespace maxmargin
