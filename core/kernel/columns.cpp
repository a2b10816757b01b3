#include "kernel/columns.hpp"

#include <algorithm>
#include <vector>

#include "base/clones.hpp"

namespace maxmargin {

namespace {

constexpr std::size_t kBlock = 256;  // rows whose entries stay in a cache for all points

template <class Value>
MAXMARGIN_INLINE void distances(const DenseRows<Value>& rows, Range range, const double* b,
                                double* out) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const Value* x = rows.row(i);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t j = 0; j < rows.d; ++j) {
      const double difference = static_cast<double>(x[j]) - b[j];
      sum += difference * difference;
    }
    out[i - range.begin] = sum;
  }
}
template <class Value>
MAXMARGIN_INLINE void distances(const ColumnRows<Value>& rows, Range range, const double* b,
                                double* out) {
  const std::size_t length = range.end - range.begin;
  std::fill_n(out, length, 0.0);
  for (std::size_t j = 0; j < rows.d; ++j) {
    const Value* x = rows.column(j, range.begin);
    const double bj = b[j];
#pragma omp simd
    for (std::size_t i = 0; i < length; ++i) {
      const double difference =
          static_cast<double>(x[static_cast<std::ptrdiff_t>(i) * rows.row_stride]) - bj;
      out[i] += difference * difference;
    }
  }
}

template <class View>
MAXMARGIN_INLINE void products(const View& rows, Range range, const double* b, double* out) {
  for (std::size_t i = range.begin; i < range.end; ++i) out[i - range.begin] = dot(rows, i, b);
}

// One overload per view, so that each is compiled for every target (templates cannot be cloned).
#define MAXMARGIN_FOR_DENSE(View)                                                               \
  MAXMARGIN_CLONES void distances_of(const View& rows, Range r, const double* b, double* out) { \
    distances(rows, r, b, out);                                                                 \
  }
MAXMARGIN_EACH_DENSE_VIEW(MAXMARGIN_FOR_DENSE)
#undef MAXMARGIN_FOR_DENSE

#define MAXMARGIN_FOR_VIEW(View)                                                               \
  MAXMARGIN_CLONES void products_of(const View& rows, Range r, const double* b, double* out) { \
    products(rows, r, b, out);                                                                 \
  }
MAXMARGIN_EACH_VIEW(MAXMARGIN_FOR_VIEW)
#undef MAXMARGIN_FOR_VIEW

template <class View>
constexpr bool kIsDense = false;
template <class Value>
constexpr bool kIsDense<DenseRows<Value>> = true;
template <class Value>
constexpr bool kIsDense<ColumnRows<Value>> = true;

template <class View>
void block_of_columns(const KernelFunction& k, const View& rows, const double* norms,
                      const PointsView& points, Range range, double* out) {
  const std::size_t length = range.end - range.begin;
  const double zeros[kBlock] = {};
  for (std::size_t q = 0; q < points.m; ++q) {
    const double* b = points.values + q * points.d;
    double* column = out + q * rows.n + range.begin;
    if constexpr (kIsDense<View>) {
      if (k.kind == KernelKind::rbf || k.kind == KernelKind::laplacian) {
        distances_of(rows, range, b, column);
        for (std::size_t i = 0; i < length; ++i) column[i] *= -0.5;  // 0 + 0 - 2 (-d / 2) = d
        kernel_row_in_place(k, column, 0.0, zeros, length);
        continue;
      }
    }
    products_of(rows, range, b, column);
    kernel_row_in_place(k, column, points.norms[q], norms + range.begin, length);
  }
}

}  // namespace

void kernel_columns(const KernelFunction& k, const Rows& rows, const double* norms,
                    const PointsView& points, double* out, Pool& pool) {
  std::visit(
      [&](const auto& view) {
        const std::size_t work = points.m * (view.nnz() + 8 * view.n);
        const std::size_t parts = std::min(pieces(work, 65536), std::max<std::size_t>(view.n, 1));
        pool.run(parts, [&](std::size_t part) {
          const Range range = part_of(view.n, parts, part);
          for (std::size_t begin = range.begin; begin < range.end; begin += kBlock)
            block_of_columns(k, view, norms, points, {begin, std::min(range.end, begin + kBlock)},
                             out);
        });
      },
      rows);
}

}  // namespace maxmargin
