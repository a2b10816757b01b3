// f(r) = quantile max(0, r) + (1 - quantile) max(0, -r)
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct Pinball : PiecewiseQuadratic<Pinball> {
  double quantile;
  static constexpr bool kPiecewiseLinear = true;
  double low() const { return quantile - 1; }
  double high() const { return quantile; }
};

}  // namespace maxmargin
