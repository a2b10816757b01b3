// f(r) = max(0, r),   r = 1 - y p
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct Hinge : PiecewiseQuadratic<Hinge> {
  static constexpr bool kOnMargins = true;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr double target() { return 1; }
  static constexpr double low() { return 0; }
  static constexpr double high() { return 1; }
};

}  // namespace maxmargin
