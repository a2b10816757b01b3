// f(r) = quantile max(0, r)^2 + (1 - quantile) max(0, -r)^2
#pragma once
#include "losses/pointwise/piecewise_quadratic.hpp"

namespace maxmargin {

struct Expectile : PiecewiseQuadratic<Expectile> {
  double quantile;
  double bend_below() const { return 0.5 / (1 - quantile); }
  double bend_above() const { return 0.5 / quantile; }
};

}  // namespace maxmargin
