// f(r) = max(0, |r| - epsilon)^2
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct SquaredEpsilonInsensitive : PiecewiseQuadratic<SquaredEpsilonInsensitive> {
  double epsilon;
  double tube() const { return epsilon; }
  static constexpr double bend_below() { return 0.5; }
  static constexpr double bend_above() { return 0.5; }
};

}  // namespace maxmargin
