// Views of rows that lie in somebody else's memory: dense (row- or column-contiguous) or CSR,
// float32 or float64, int32 or int64 indices; dense rows of uint8 and int8 too. Nothing is copied
// or converted; all sums are float64.
//
// `bias` appends a constant feature to every row without storing it: the weight vector then has
// d + 1 entries, the last one belonging to it. bias = 0 means there is none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "base/check.hpp"
#include "base/clones.hpp"
#include "base/parallel.hpp"
#include "base/portable.hpp"

namespace maxmargin {

struct Shape {
  std::size_t n = 0, d = 0;
  double bias = 0;
  std::size_t width() const { return d + (bias != 0 ? 1 : 0); }
};

// Asks for an array's first lines; the processor itself goes on with what follows them.
template <class T>
MAXMARGIN_INLINE void prefetch_lines(const T* array, std::size_t length) {
  constexpr std::size_t line = 64, most = 2048;
  const std::size_t bytes = length * sizeof(T) < most ? length * sizeof(T) : most;
  const char* start = reinterpret_cast<const char*>(array);
  for (std::size_t b = 0; b < bytes; b += line) prefetch_read(start + b);
}

template <class Value>
struct DenseRows : Shape {
  const Value* values;
  std::ptrdiff_t row_stride;  // in elements; the entries of a row are contiguous

  MAXMARGIN_INLINE const Value* row(std::size_t i) const {
    return values + static_cast<std::ptrdiff_t>(i) * row_stride;
  }
  std::size_t nnz() const { return n * d; }
  std::size_t entries(std::size_t) const { return d; }
  template <class F>
  MAXMARGIN_INLINE void each(std::size_t i, F f) const {
    const Value* x = row(i);
    for (std::size_t j = 0; j < d; ++j) f(j, static_cast<double>(x[j]));
  }
  MAXMARGIN_INLINE void prefetch_start(std::size_t) const {}
  MAXMARGIN_INLINE void prefetch(std::size_t i) const { prefetch_lines(row(i), d); }
  DenseRows subsample(std::size_t step) const {
    DenseRows view = *this;
    view.n = (n + step - 1) / step;
    view.row_stride = row_stride * static_cast<std::ptrdiff_t>(step);
    return view;
  }
};

template <class Value>
struct ColumnRows : Shape {
  const Value* values;
  std::ptrdiff_t column_stride;   // in elements
  std::ptrdiff_t row_stride = 1;  // 1: the entries of a column are contiguous

  std::size_t nnz() const { return n * d; }
  std::size_t entries(std::size_t) const { return d; }
  MAXMARGIN_INLINE const Value* column(std::size_t j, std::size_t first_row) const {
    return values + static_cast<std::ptrdiff_t>(j) * column_stride +
           static_cast<std::ptrdiff_t>(first_row) * row_stride;
  }
  template <class F>
  MAXMARGIN_INLINE void each(std::size_t i, F f) const {
    for (std::size_t j = 0; j < d; ++j) f(j, static_cast<double>(*column(j, i)));
  }
  MAXMARGIN_INLINE void prefetch_start(std::size_t) const {}
  MAXMARGIN_INLINE void prefetch(std::size_t) const {}
  ColumnRows subsample(std::size_t step) const {
    ColumnRows view = *this;
    view.n = (n + step - 1) / step;
    view.row_stride = row_stride * static_cast<std::ptrdiff_t>(step);
    return view;
  }
};

template <class Value, class Index>
struct SparseRows : Shape {
  const Value* values;
  const Index* indices;
  const Index* starts;   // row i is [starts[i step], starts[i step + 1])
  std::size_t step = 1;  // only every step-th row is looked at

  MAXMARGIN_INLINE Index begin(std::size_t i) const { return starts[i * step]; }
  MAXMARGIN_INLINE Index end(std::size_t i) const { return starts[i * step + 1]; }
  // Of a subsampled view, about: its last row tells where the rows before it end.
  std::size_t nnz() const {
    return n == 0 ? 0 : static_cast<std::size_t>(end(n - 1) - begin(0)) / step;
  }
  std::size_t entries(std::size_t i) const { return static_cast<std::size_t>(end(i) - begin(i)); }
  template <class F>
  MAXMARGIN_INLINE void each(std::size_t i, F f) const {
    for (Index q = begin(i), last = end(i); q < last; ++q)
      f(static_cast<std::size_t>(indices[q]), static_cast<double>(values[q]));
  }
  MAXMARGIN_INLINE void prefetch_start(std::size_t i) const { prefetch_read(starts + i * step); }
  MAXMARGIN_INLINE void prefetch(std::size_t i) const {
    const Index q = begin(i);
    prefetch_lines(values + q, entries(i));
    prefetch_lines(indices + q, entries(i));
  }
  SparseRows subsample(std::size_t by) const {
    SparseRows view = *this;
    view.n = (n + by - 1) / by;
    view.step = step * by;
    return view;
  }
};

using DenseUint8 = DenseRows<std::uint8_t>;
using DenseInt8 = DenseRows<std::int8_t>;
using ColumnUint8 = ColumnRows<std::uint8_t>;
using ColumnInt8 = ColumnRows<std::int8_t>;

using SparseFloat32 = SparseRows<float, std::int32_t>;
using SparseDouble32 = SparseRows<double, std::int32_t>;
using SparseFloat64 = SparseRows<float, std::int64_t>;
using SparseDouble64 = SparseRows<double, std::int64_t>;

using Rows = std::variant<DenseRows<float>, DenseRows<double>, ColumnRows<float>,
                          ColumnRows<double>, DenseUint8, DenseInt8, ColumnUint8, ColumnInt8,
                          SparseFloat32, SparseDouble32, SparseFloat64, SparseDouble64>;

// F(View) for each of them: a way to compile one overload a view for every target.
#define MAXMARGIN_EACH_DENSE_VIEW(F) \
  F(DenseRows<float>)                \
  F(DenseRows<double>)               \
  F(ColumnRows<float>) F(ColumnRows<double>) F(DenseUint8) F(DenseInt8) F(ColumnUint8) F(ColumnInt8)
#define MAXMARGIN_EACH_VIEW(F) \
  MAXMARGIN_EACH_DENSE_VIEW(F) \
  F(SparseFloat32) F(SparseDouble32) F(SparseFloat64) F(SparseDouble64)

inline const Shape& shape(const Rows& rows) {
  return std::visit([](const auto& view) -> const Shape& { return view; }, rows);
}

// Every step-th row, where it lies: a sample to start from.
inline Rows subsample(const Rows& rows, std::size_t step) {
  return std::visit([step](const auto& view) -> Rows { return view.subsample(step); }, rows);
}

// Columns of a row that do not increase, though all rows lie inside their arrays: sorting and
// adding up repeated ones mends that.
struct Unordered : InvalidInput {
  explicit Unordered(std::size_t row)
      : InvalidInput("the columns of row " + std::to_string(row) +
                     " of the CSR matrix do not increase: call X.sum_duplicates() first") {}
};

// Refuses CSR structure that would make a loop read or write outside its arrays: row starts that
// decrease or lead outside the entries, columns outside [0, d) or not increasing. The arrays may
// come from anywhere.
template <class Index>
void check_structure(const Index* starts, std::size_t n, const Index* indices, std::size_t entries,
                     std::size_t d, Pool& pool);

// Whether no number of an array is infinite or NaN.
template <class Value>
bool all_finite(const Value* x, std::size_t n, Pool& pool);

// <x, w> of entries x at distinct places j.
template <class Value, class Index>
MAXMARGIN_INLINE double sparse_dot(const Value* x, const Index* j, std::size_t count,
                                   const double* w) {
  double sum[4] = {0, 0, 0, 0};
  std::size_t q = 0;
  for (; q + 4 <= count; q += 4)
    for (std::size_t r = 0; r < 4; ++r) sum[r] += static_cast<double>(x[q + r]) * w[j[q + r]];
  for (; q < count; ++q) sum[0] += static_cast<double>(x[q]) * w[j[q]];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
// w += c x: the places differ, so four entries can be read before any is written.
template <class Value, class Index>
MAXMARGIN_INLINE void sparse_add(const Value* x, const Index* j, std::size_t count, double c,
                                 double* w) {
  std::size_t q = 0;
  for (; q + 4 <= count; q += 4) {
    double sum[4];
    for (std::size_t r = 0; r < 4; ++r) sum[r] = w[j[q + r]] + c * static_cast<double>(x[q + r]);
    for (std::size_t r = 0; r < 4; ++r) w[j[q + r]] = sum[r];
  }
  for (; q < count; ++q) w[j[q]] += c * static_cast<double>(x[q]);
}

// <w, x_i>, the constant feature included. Four running sums hide the latency of the additions.
template <class View>
MAXMARGIN_INLINE double dot(const View& rows, std::size_t i, const double* w) {
  double even = rows.bias != 0 ? rows.bias * w[rows.d] : 0.0;
  rows.each(i, [&](std::size_t j, double x) { even += x * w[j]; });
  return even;
}
template <class Value, class Index>
MAXMARGIN_INLINE double dot(const SparseRows<Value, Index>& rows, std::size_t i, const double* w) {
  const double sum =
      sparse_dot(rows.values + rows.begin(i), rows.indices + rows.begin(i), rows.entries(i), w);
  return rows.bias != 0 ? sum + rows.bias * w[rows.d] : sum;
}
template <class Value>
MAXMARGIN_INLINE double dot(const DenseRows<Value>& rows, std::size_t i, const double* w) {
  const Value* x = rows.row(i);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < rows.d; ++j) sum += static_cast<double>(x[j]) * w[j];
  return rows.bias != 0 ? sum + rows.bias * w[rows.d] : sum;
}

// w += c x_i
template <class View>
MAXMARGIN_INLINE void add(const View& rows, std::size_t i, double c, double* w) {
  rows.each(i, [&](std::size_t j, double x) { w[j] += c * x; });
  if (rows.bias != 0) w[rows.d] += c * rows.bias;
}
template <class Value, class Index>
MAXMARGIN_INLINE void add(const SparseRows<Value, Index>& rows, std::size_t i, double c,
                          double* w) {
  sparse_add(rows.values + rows.begin(i), rows.indices + rows.begin(i), rows.entries(i), c, w);
  if (rows.bias != 0) w[rows.d] += c * rows.bias;
}
template <class Value>
MAXMARGIN_INLINE void add(const DenseRows<Value>& rows, std::size_t i, double c, double* w) {
  const Value* x = rows.row(i);
#pragma omp simd
  for (std::size_t j = 0; j < rows.d; ++j) w[j] += c * static_cast<double>(x[j]);
  if (rows.bias != 0) w[rows.d] += c * rows.bias;
}

// ||x_i||^2
template <class Value>
MAXMARGIN_INLINE double sum_of_squares(const Value* x, std::size_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t q = 0; q < count; ++q) {
    const double value = static_cast<double>(x[q]);
    sum += value * value;
  }
  return sum;
}
template <class Value>
MAXMARGIN_INLINE double squared_norm(const DenseRows<Value>& rows, std::size_t i) {
  return rows.bias * rows.bias + sum_of_squares(rows.row(i), rows.d);
}
template <class Value>
MAXMARGIN_INLINE double squared_norm(const ColumnRows<Value>& rows, std::size_t i) {
  double sum = rows.bias * rows.bias;
  rows.each(i, [&](std::size_t, double x) { sum += x * x; });
  return sum;
}
template <class Value, class Index>
MAXMARGIN_INLINE double squared_norm(const SparseRows<Value, Index>& rows, std::size_t i) {
  return rows.bias * rows.bias + sum_of_squares(rows.values + rows.begin(i), rows.entries(i));
}

}  // namespace maxmargin
