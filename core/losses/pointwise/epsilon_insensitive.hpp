// f(r) = max(0, |r| - epsilon)
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct EpsilonInsensitive : PiecewiseQuadratic<EpsilonInsensitive> {
  double epsilon;
  static constexpr bool kPiecewiseLinear = true;
  static constexpr int kKinks = 2;
  double tube() const { return epsilon; }
  static constexpr double low() { return -1; }
  static constexpr double high() { return 1; }
};

}  // namespace maxmargin
