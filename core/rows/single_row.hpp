// Products with one row, for loops that are not compiled for every target themselves: dense rows go
// through functions that are.
#pragma once
#include <concepts>
#include <cstddef>

#include "rows/packed.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// <w, x_i>
template <class View>
MAXMARGIN_INLINE double row_dot(const View& rows, std::size_t i, const double* w) {
  return dot(rows, i, w);
}
template <std::floating_point Value>
MAXMARGIN_INLINE double row_dot(const DenseRows<Value>& rows, std::size_t i, const double* w) {
  const double sum = dense_dot(rows.row(i), w, rows.d);
  return rows.bias != 0 ? sum + rows.bias * w[rows.d] : sum;
}

// w += c x_i
template <class View>
MAXMARGIN_INLINE void row_add(const View& rows, std::size_t i, double c, double* w) {
  add(rows, i, c, w);
}
template <std::floating_point Value>
MAXMARGIN_INLINE void row_add(const DenseRows<Value>& rows, std::size_t i, double c, double* w) {
  dense_add(rows.row(i), c, w, rows.d);
  if (rows.bias != 0) w[rows.d] += c * rows.bias;
}

}  // namespace maxmargin
