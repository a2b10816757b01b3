// f(r) = r^2 / 2
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct Squared : PiecewiseQuadratic<Squared> {
  static constexpr double bend_below() { return 1; }
  static constexpr double bend_above() { return 1; }
};

}  // namespace maxmargin
