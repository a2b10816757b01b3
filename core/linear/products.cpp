#include "linear/products.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "linear/cholesky.hpp"

namespace maxmargin {

namespace {

// ---------------------------------------------------------------- loops over one range of rows

template <class View>
MAXMARGIN_INLINE void predict_range(const View& rows, Range range, const double* w, double* p) {
  for (std::size_t i = range.begin; i < range.end; ++i) p[i] = dot(rows, i, w);
}
template <class Value>
MAXMARGIN_INLINE void predict_range(const ColumnRows<Value>& rows, Range range, const double* w,
                                    double* p) {
  const double constant = rows.bias != 0 ? rows.bias * w[rows.d] : 0.0;
  constexpr std::size_t block = 1024;  // predictions of a block stay in the first-level cache
  for (std::size_t begin = range.begin; begin < range.end; begin += block) {
    const std::size_t length = std::min(block, range.end - begin);
    std::fill_n(p + begin, length, constant);
    for (std::size_t j = 0; j < rows.d; ++j) {
      const Value* x = rows.column(j, begin);
      const double wj = w[j];
#pragma omp simd
      for (std::size_t i = 0; i < length; ++i)
        p[begin + i] +=
            wj * static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * rows.row_stride]);
    }
  }
}

template <class View>
MAXMARGIN_INLINE void combine_range(const View& rows, Range range, const double* l, double* a) {
  for (std::size_t i = range.begin; i < range.end; ++i)
    if (l[i] != 0) add(rows, i, l[i], a);
}
template <class Value>
MAXMARGIN_INLINE void combine_range(const ColumnRows<Value>& rows, Range range, const double* l,
                                    double* a) {
  const std::size_t length = range.end - range.begin;
  const double* part = l + range.begin;
  for (std::size_t j = 0; j < rows.d; ++j) {
    const Value* x = rows.column(j, range.begin);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < length; ++i)
      sum += part[i] * static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * rows.row_stride]);
    a[j] += sum;
  }
  if (rows.bias != 0) {
    double sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += part[i];
    a[rows.d] += rows.bias * sum;
  }
}

// One overload per view, so that each is compiled for every target (templates cannot be cloned).
#define MAXMARGIN_FOR_VIEW(View)                                                              \
  MAXMARGIN_CLONES void predict_part(const View& rows, Range r, const double* w, double* p) { \
    predict_range(rows, r, w, p);                                                             \
  }                                                                                           \
  MAXMARGIN_CLONES void combine_part(const View& rows, Range r, const double* l, double* a) { \
    combine_range(rows, r, l, a);                                                             \
  }
MAXMARGIN_EACH_VIEW(MAXMARGIN_FOR_VIEW)
#undef MAXMARGIN_FOR_VIEW

// ---------------------------------------------------------------- how the work is cut

// Pieces for sums of `length` numbers each: as many as keep all partial sums within a few vectors
// of length n and `length`, so that memory does not grow with the number of threads.
std::size_t buffers_for(std::size_t n, std::size_t nnz, std::size_t length) {
  const std::size_t by_memory = 4 * (n + length) / std::max<std::size_t>(length, 1);
  // a power of two, so that two or four threads get equal shares
  return std::bit_floor(std::clamp<std::size_t>(std::min(nnz / 16384, by_memory), 1, 64));
}

// Whether a sum begins at zero or goes on from what is there.
enum class From { zero, here };

// sum[j] = parts[0][j] + parts[1][j] + ..., in this order, or that on top of what sum holds
void add_up(const double* parts, std::size_t count, std::size_t length, double* sum, Pool& pool,
            From from_where) {
  const std::size_t cuts = pieces(length);
  pool.run(cuts, [&](std::size_t k) {
    const Range range = part_of(length, cuts, k);
    std::size_t part = 0;
    if (from_where == From::zero) {
      std::copy(parts + range.begin, parts + range.end, sum + range.begin);
      part = 1;
    }
    for (; part < count; ++part) {
      const double* from = parts + part * length;
#pragma omp simd
      for (std::size_t j = range.begin; j < range.end; ++j) sum[j] += from[j];
    }
  });
}

// Runs accumulate(range, part) over pieces of the rows, each into zeroed memory, and adds them up.
// The last rows come first: a product before this one ended there and left them in a cache, and the
// next one will begin where this one ends.
template <class Accumulate>
void sum_over_rows(std::size_t n, std::size_t parts, std::size_t length, double* sum, Pool& pool,
                   Accumulate accumulate, From from = From::zero) {
  if (parts == 1) {
    if (from == From::zero) std::fill_n(sum, length, 0.0);
    pool.run(1, [&](std::size_t) { accumulate(Range{0, n}, sum); });
    return;
  }
  double* memory = pool.scratch(parts * length);
  pool.run(parts, [&](std::size_t task) {
    const std::size_t k = parts - 1 - task;
    double* part = memory + k * length;
    std::fill_n(part, length, 0.0);
    accumulate(part_of(n, parts, k), part);
  });
  add_up(memory, parts, length, sum, pool, from);
}

// ---------------------------------------------------------------- Gram matrix

// Rows to sum over with their weights.
struct Weighted {
  std::size_t row;
  double h;
};

// Sparse rows: the upper triangle of x x^T, entry by entry. Columns increase along a row.
template <class View>
void gram_entries(const View& rows, const Weighted* begin, const Weighted* end, double* H) {
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

constexpr std::size_t kBlock = 128;  // rows gathered at a time

// Rows with many entries: gather blocks of them as dense rows, then tiles of the upper triangle.
template <class View>
void gram_tiles(const View& rows, const std::vector<Weighted>& active, double* H, Pool& pool) {
  const std::size_t width = rows.width();
  const std::size_t padded = (width + kTileColumns - 1) / kTileColumns * kTileColumns;
  const std::size_t chunk = 16 * kBlock;
  double* sum = pool.scratch(padded * padded + 2 * chunk * padded);
  double* left = sum + padded * padded;   // h_i x_i
  double* right = left + chunk * padded;  // x_i
  std::fill_n(sum, padded * padded, 0.0);
  for (std::size_t begin = 0; begin < active.size(); begin += chunk) {
    const std::size_t count = std::min(chunk, active.size() - begin);
    pool.run((count + kBlock - 1) / kBlock, [&](std::size_t b) {
      for (std::size_t r = b * kBlock; r < std::min(count, (b + 1) * kBlock); ++r) {
        const auto [i, h] = active[begin + r];
        double* x = right + r * padded;
        double* hx = left + r * padded;
        std::fill_n(x, padded, 0.0);
        rows.each(i, [&](std::size_t j, double v) { x[j] = v; });
        if (rows.bias != 0) x[rows.d] = rows.bias;
        for (std::size_t j = 0; j < padded; ++j) hx[j] = h * x[j];
      }
    });
    pool.run(padded / kTileColumns, [&](std::size_t t) {
      const std::size_t column = t * kTileColumns;
      for (std::size_t r = 0; r < count; r += kBlock)
        for (std::size_t j = 0; j < column + kTileColumns; j += kTileRows)
          add_tile(left + r * padded + j, right + r * padded + column, std::min(kBlock, count - r),
                   padded, sum + j * padded + column, padded);
    });
  }
  for (std::size_t j = 0; j < width; ++j)
    std::copy(sum + j * padded, sum + j * padded + width, H + j * width);
}

// Every `every`-th row with h_i > 0, its weight raised to stand for the others.
std::vector<Weighted> chosen_rows(const double* h, std::size_t n, std::size_t every) {
  std::vector<Weighted> chosen;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (h[i] != 0 && seen++ % every == 0) chosen.push_back({i, h[i] * static_cast<double>(every)});
  return chosen;
}

// Steps for a row of z entries on average: entry by entry z^2 / 2; by tiles d^2 / 2 steps that are
// about sixteen times cheaper.
struct GramSteps {
  double entries, tiles;
};
GramSteps gram_steps(std::size_t n, std::size_t nnz, std::size_t width) {
  const double z = static_cast<double>(nnz) / static_cast<double>(std::max<std::size_t>(n, 1)) + 1;
  const double d = static_cast<double>(width);
  return {z * z / 2, d * d / 32};
}

void mirror_upper(double* H, std::size_t width) {
  for (std::size_t j = 0; j < width; ++j)
    for (std::size_t k = 0; k < j; ++k) H[j * width + k] = H[k * width + j];
}

}  // namespace

// ---------------------------------------------------------------- public

void predict(const Rows& rows, const double* w, double* p, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        const std::size_t parts =
            std::min(pieces(view.nnz(), 16384), std::max<std::size_t>(view.n, 1));
        pool.run(parts,
                 [&](std::size_t k) { predict_part(view, part_of(view.n, parts, k), w, p); });
      },
      rows);
}

void combine(const Rows& rows, const double* l, double* a, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        sum_over_rows(view.n, buffers_for(view.n, view.nnz(), view.width()), view.width(), a, pool,
                      [&](Range range, double* part) { combine_part(view, range, l, part); });
      },
      rows);
}

void combine_onto(const Rows& rows, const double* l, double* a, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        const std::size_t width = view.width(), nnz = view.nnz();
        // Partial sums of a wide w would cost more than the few entries of a block.
        const std::size_t parts = 4 * width > nnz ? 1 : buffers_for(view.n, nnz, width);
        sum_over_rows(
            view.n, parts, width, a, pool,
            [&](Range range, double* part) { combine_part(view, range, l, part); }, From::here);
      },
      rows);
}

void squared_norms(const Rows& rows, double* out, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        const std::size_t parts = pieces(view.n);
        pool.run(parts, [&](std::size_t k) {
          const Range range = part_of(view.n, parts, k);
          for (std::size_t i = range.begin; i < range.end; ++i) out[i] = squared_norm(view, i);
        });
      },
      rows);
}

void gram(const Rows& rows, const double* h, std::size_t every, double* H, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        const std::size_t width = view.width();
        const std::vector<Weighted> chosen = chosen_rows(h, view.n, every);
        const GramSteps steps = gram_steps(view.n, view.nnz(), width);
        if (steps.tiles < steps.entries) {
          gram_tiles(view, chosen, H, pool);
        } else {
          // partial sums of d x d each: many for few features, two for thousands
          const std::size_t most = std::clamp<std::size_t>((1 << 20) / (width * width), 2, 16);
          const std::size_t parts = std::clamp<std::size_t>(chosen.size() / 256, 1, most);
          sum_over_rows(
              chosen.size(), parts, width * width, H, pool, [&](Range range, double* part) {
                gram_entries(view, chosen.data() + range.begin, chosen.data() + range.end, part);
              });
        }
        mirror_upper(H, width);
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

void hessian_product(const Rows& rows, const double* h, const double* v, double* out, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        sum_over_rows(view.n, buffers_for(view.n, view.nnz(), view.width()), view.width(), out,
                      pool, [&](Range range, double* part) {
                        for (std::size_t i = range.begin; i < range.end; ++i)
                          if (h[i] != 0) add(view, i, h[i] * dot(view, i, v), part);
                      });
      },
      rows);
}

}  // namespace maxmargin
