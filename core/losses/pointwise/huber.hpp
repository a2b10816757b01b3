// f(r) = r^2 / 2 for |r| <= delta, else delta |r| - delta^2 / 2
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct Huber : PiecewiseQuadratic<Huber> {
  double delta;
  double low() const { return -delta; }
  double high() const { return delta; }
  static constexpr double bend_below() { return 1; }
  static constexpr double bend_above() { return 1; }
};

}  // namespace maxmargin
