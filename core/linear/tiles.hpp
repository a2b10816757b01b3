// Products of matrices by tiles held in registers, for the Gram matrix and the Cholesky factor.
//
// A matrix of k rows and d columns lies in panels: columns [0, W) of all its rows, then columns
// [W, 2 W), and so on, so that a tile reads memory in order. W numbers fill a cache line. An
// element of a product sums over its rows in order, whatever the width of the registers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.hpp"

namespace maxmargin {

constexpr std::size_t kTileRows = 6;
constexpr std::size_t kLine = 64;  // bytes of a cache line

template <class Real>
constexpr std::size_t kPanelWidth = kLine / sizeof(Real);

// A matrix in panels. `depth` is how many rows there is room for.
template <class Real>
struct Panels {
  Real* values;
  std::size_t depth, columns;

  static constexpr std::size_t width = kPanelWidth<Real>;
  static std::size_t count(std::size_t columns) { return (columns + width - 1) / width; }
  std::size_t count() const { return count(columns); }
  // In numbers of type double, with room to begin at a line.
  static std::size_t doubles(std::size_t depth, std::size_t columns) {
    return count(columns) * depth * kLine / sizeof(double) + kLine / sizeof(double);
  }
  Panels(double* memory, std::size_t depth_, std::size_t columns_)
      : values(reinterpret_cast<Real*>((reinterpret_cast<std::uintptr_t>(memory) + kLine - 1) /
                                       kLine * kLine)),
        depth(depth_),
        columns(columns_) {}
  Real* at(std::size_t row, std::size_t column) const {
    return values + (column / width * depth + row) * width + column % width;
  }
};

// H_jk += sign * sum_r A_rj A_rk over rows [first, last) of A, for columns k of one panel and the
// columns j in [j_begin, j_end). H has `stride` numbers a row; column k = 0 of A is its column 0.
void add_products(const Panels<float>& A, Range rows, std::size_t panel, Range j, double sign,
                  double* H, std::size_t stride);
void add_products(const Panels<double>& A, Range rows, std::size_t panel, Range j, double sign,
                  double* H, std::size_t stride);

}  // namespace maxmargin
