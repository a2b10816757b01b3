// f(r) = max(0, r)^2,   r = 1 - y p
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct SquaredHinge : PiecewiseQuadratic<SquaredHinge> {
  static constexpr bool kOnMargins = true;
  static constexpr double target() { return 1; }
  static constexpr double low() { return 0; }
  static constexpr double bend_below() { return 0.5; }
  static constexpr double bend_above() { return 0.5; }
};

}  // namespace maxmargin
