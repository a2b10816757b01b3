#include "linear/products.hpp"

#include <algorithm>
#include <bit>

#include "linear/row_sums.hpp"

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

// <x, l> of a column. Eight running sums, of adjacent entries, hide the latency of the additions.
template <class Value>
MAXMARGIN_INLINE double column_dot(const Value* x, const double* l, std::size_t length) {
  constexpr std::size_t lanes = 32;
  double sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= length; i += lanes)
#pragma omp simd
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += l[i + k] * static_cast<double>(x[i + k]);
  double sum = 0;
  for (; i < length; ++i) sum += l[i] * static_cast<double>(x[i]);
  for (std::size_t k = 0; k < lanes; ++k) sum += sums[k];
  return sum;
}
template <class Value>
MAXMARGIN_INLINE double strided_column_dot(const Value* x, std::ptrdiff_t stride, const double* l,
                                           std::size_t length) {
  double sum = 0;
  for (std::size_t i = 0; i < length; ++i)
    sum += l[i] * static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * stride]);
  return sum;
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
    a[j] += rows.row_stride == 1 ? column_dot(x, part, length)
                                 : strided_column_dot(x, rows.row_stride, part, length);
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

void hessian_product(const Rows& rows, const double* h, const double* v, double* out, Pool& pool,
                     double* image) {
  std::visit(
      [&](const auto& view) {
        sum_over_rows(view.n, buffers_for(view.n, view.nnz(), view.width()), view.width(), out,
                      pool, [&](Range range, double* part) {
                        for (std::size_t i = range.begin; i < range.end; ++i) {
                          if (h[i] == 0 && !image) continue;
                          const double p = dot(view, i, v);
                          if (image) image[i] = p;
                          if (h[i] != 0) add(view, i, h[i] * p, part);
                        }
                      });
      },
      rows);
}

}  // namespace maxmargin
