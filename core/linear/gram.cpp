#include "linear/gram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "linear/row_sums.hpp"
#include "linear/tiles.hpp"

namespace maxmargin {

namespace {

// Rows to sum over with their weights.
struct Weighted {
  std::size_t row;
  double h;
};
using Chosen = std::vector<Weighted>;

// Every `every`-th row with h_i > 0, its weight raised to stand for the others.
Chosen chosen_rows(const double* h, std::size_t n, std::size_t every) {
  Chosen chosen;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (h[i] != 0 && seen++ % every == 0) chosen.push_back({i, h[i] * static_cast<double>(every)});
  return chosen;
}

// Steps for a row of z entries on average: entry by entry z^2 / 2; by tiles d^2 / 2 steps that are
// about 32 times cheaper (two registers of eight or sixteen numbers a cycle, no indices).
struct GramSteps {
  double entries, tiles;
};
GramSteps gram_steps(std::size_t n, std::size_t nnz, std::size_t width) {
  const double z = static_cast<double>(nnz) / static_cast<double>(std::max<std::size_t>(n, 1)) + 1;
  const double d = static_cast<double>(width);
  return {z * z / 2, d * d / 64};
}

// ---------------------------------------------------------------- rows with few entries

// The upper triangle of x x^T, entry by entry. Columns increase along a row.
template <class View>
void add_entries(const View& rows, const Weighted* begin, const Weighted* end, double* H) {
  const std::size_t width = rows.width();
  std::vector<std::uint32_t> columns(width);
  std::vector<double> x(width);
  for (const Weighted* item = begin; item != end; ++item) {
    std::size_t count = 0;
    rows.each(item->row, [&](std::size_t j, double v) {
      columns[count] = static_cast<std::uint32_t>(j);
      x[count++] = v;
    });
    if (rows.bias != 0) {
      columns[count] = static_cast<std::uint32_t>(rows.d);
      x[count++] = rows.bias;
    }
    for (std::size_t r = 0; r < count; ++r) {
      const double scaled = item->h * x[r];
      double* row = H + columns[r] * width;
      for (std::size_t q = r; q < count; ++q) row[columns[q]] += scaled * x[q];
    }
  }
}

template <class View>
void gram_by_entries(const View& rows, const Chosen& chosen, double* H, Pool& pool) {
  const std::size_t width = rows.width();
  // partial sums of d x d each: many for few features, two for thousands, and no more than it takes
  // to fill each of them with several numbers a place
  const std::size_t most = std::clamp<std::size_t>((1 << 20) / (width * width), 2, 16);
  const double steps = gram_steps(rows.n, rows.nnz(), width).entries;
  const double work = steps * static_cast<double>(chosen.size());
  const auto worth = static_cast<std::size_t>(work / (4 * static_cast<double>(width * width)));
  const std::size_t parts = std::clamp<std::size_t>(std::min(chosen.size() / 256, worth), 1, most);
  sum_over_rows(chosen.size(), parts, width * width, H, pool, [&](Range range, double* part) {
    add_entries(rows, chosen.data() + range.begin, chosen.data() + range.end, part);
  });
}

// ---------------------------------------------------------------- rows with many entries

constexpr std::size_t kDepth = 256;        // rows summed up in registers before H is touched
constexpr std::size_t kGroup = 4;          // panels that share what they read of the left side
constexpr std::size_t kLeftColumns = 96;   // of which so many columns stay in a second-level cache
constexpr std::size_t kPacked = 1u << 20;  // numbers packed at a time, about
constexpr std::size_t kMostRows = 16 * kDepth;

// Packs sqrt(h_i) x_i for the rows [first, last) of a chunk.
template <class View, class Real>
void pack(const View& rows, const Weighted* chunk, Range range, const Panels<Real>& A) {
  const std::size_t padded = A.count() * A.width;
  std::vector<Real> x(padded);
  for (std::size_t r = range.begin; r < range.end; ++r) {
    const double scale = std::sqrt(chunk[r].h);
    std::fill(x.begin(), x.end(), Real{0});
    rows.each(chunk[r].row, [&](std::size_t j, double v) { x[j] = static_cast<Real>(scale * v); });
    if (rows.bias != 0) x[rows.d] = static_cast<Real>(scale * rows.bias);
    for (std::size_t j = 0; j < padded; j += A.width)
      std::copy_n(x.data() + j, A.width, A.at(r, j));
  }
}

// By columns, as they lie in memory.
template <class Value, class Real>
void pack(const ColumnRows<Value>& rows, const Weighted* chunk, Range range,
          const Panels<Real>& A) {
  std::vector<double> scale(range.end - range.begin);
  for (std::size_t r = range.begin; r < range.end; ++r)
    scale[r - range.begin] = std::sqrt(chunk[r].h);
  for (std::size_t j = 0; j < A.count() * A.width; ++j) {
    const double constant = j == rows.d ? rows.bias : 0.0;
    Real* out = A.at(0, j);
    for (std::size_t r = range.begin; r < range.end; ++r) {
      const double value =
          j < rows.d ? static_cast<double>(*rows.column(j, chunk[r].row)) : constant;
      out[r * A.width] = static_cast<Real>(scale[r - range.begin] * value);
    }
  }
}

// The part of the upper triangle that lies in the panels [first, last).
template <class Real>
void add_group(const Panels<Real>& A, std::size_t rows, Range panels, double* H) {
  const auto end_of = [&](std::size_t panel) { return std::min(A.columns, (panel + 1) * A.width); };
  for (std::size_t r = 0; r < rows; r += kDepth)
    for (std::size_t j = 0; j < end_of(panels.end - 1); j += kLeftColumns)
      for (std::size_t panel = panels.begin; panel < panels.end; ++panel) {
        const std::size_t j_end = std::min(j + kLeftColumns, end_of(panel));
        if (j_end > j)
          add_products(A, Range{r, std::min(r + kDepth, rows)}, panel, Range{j, j_end}, 1.0, H,
                       A.columns);
      }
}

template <class Real, class View>
void gram_by_tiles(const View& rows, const Chosen& chosen, double* H, Pool& pool) {
  const std::size_t width = rows.width();
  const std::size_t depth =
      std::clamp(kPacked / width / kDepth * kDepth, std::size_t{kDepth}, kMostRows);
  const Panels<Real> A(pool.scratch(Panels<Real>::doubles(depth, width)), depth, width);
  const std::size_t groups = (A.count() + kGroup - 1) / kGroup;
  std::fill_n(H, width * width, 0.0);
  for (std::size_t begin = 0; begin < chosen.size(); begin += depth) {
    const std::size_t count = std::min(depth, chosen.size() - begin);
    const std::size_t parts = pieces(count, 64);
    pool.run(parts, [&](std::size_t k) {
      pack(rows, chosen.data() + begin, part_of(count, parts, k), A);
    });
    pool.run(groups, [&](std::size_t task) {
      const std::size_t group = groups - 1 - task;  // long columns first
      add_group(A, count, Range{group * kGroup, std::min((group + 1) * kGroup, A.count())}, H);
    });
  }
}

// ---------------------------------------------------------------- which way

// A diagonal entry of H up to which float32 will do: products carry errors of about 1e-7 of it.
constexpr double kMostDiagonal = 1e5;
// Multiplications below which float32 saves no more than a millisecond. With all digits a weight of
// 2 and a row given twice lead to the same steps.
constexpr double kLeastProducts = 1e7;

// Whether float32 saves time, and the largest diagonal entry of H, judged by some of the rows,
// leaves I its digits.
template <class View>
bool suits_float32(const View& rows, const Chosen& chosen) {
  constexpr std::size_t few = 512;
  const double width = static_cast<double>(rows.width());
  if (static_cast<double>(chosen.size()) * width * width < kLeastProducts) return false;
  const std::size_t step = std::max<std::size_t>(1, chosen.size() / few);
  std::vector<double> diagonal(rows.width());
  for (std::size_t k = 0; k < chosen.size(); k += step) {
    const double h = chosen[k].h * static_cast<double>(step);
    rows.each(chosen[k].row, [&](std::size_t j, double v) { diagonal[j] += h * v * v; });
    if (rows.bias != 0) diagonal[rows.d] += h * rows.bias * rows.bias;
  }
  return std::all_of(diagonal.begin(), diagonal.end(), [](double x) { return x <= kMostDiagonal; });
}

bool is_finite(const double* H, std::size_t width) {
  for (std::size_t j = 0; j < width; ++j)
    if (!std::isfinite(H[j * width + j])) return false;
  return true;
}

// Copies the upper triangle to the lower one, in blocks that stay in a cache.
void mirror_upper(double* H, std::size_t width, Pool& pool) {
  constexpr std::size_t block = 64;
  pool.run((width + block - 1) / block, [&](std::size_t task) {
    const std::size_t first = task * block, last = std::min(first + block, width);
    for (std::size_t from = 0; from < last; from += block)
      for (std::size_t j = first; j < last; ++j)
        for (std::size_t k = from; k < std::min(from + block, j); ++k)
          H[j * width + k] = H[k * width + j];
  });
}

}  // namespace

void gram(const Rows& rows, const double* h, std::size_t every, GramUse use, double* H,
          Pool& pool) {
  std::visit(
      [&](const auto& view) {
        const std::size_t width = view.width();
        const Chosen chosen = chosen_rows(h, view.n, every);
        const GramSteps steps = gram_steps(view.n, view.nnz(), width);
        if (steps.entries <= steps.tiles) {
          gram_by_entries(view, chosen, H, pool);
        } else if (use == GramUse::direction && suits_float32(view, chosen)) {
          gram_by_tiles<float>(view, chosen, H, pool);
          // a row that was not among those looked at may have been too large
          if (!is_finite(H, width)) gram_by_tiles<double>(view, chosen, H, pool);
        } else {
          gram_by_tiles<double>(view, chosen, H, pool);
        }
        mirror_upper(H, width, pool);
      },
      rows);
}

double gram_steps_per_row(const Rows& rows) {
  return std::visit(
      [](const auto& view) {
        const GramSteps steps = gram_steps(view.n, view.nnz(), view.width());
        return std::min(steps.entries, steps.tiles);
      },
      rows);
}

}  // namespace maxmargin
