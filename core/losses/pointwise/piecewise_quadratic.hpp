// Losses whose conjugate is   f*(u) = tube |u| + k(u) u^2 / 2   on [low, high],   low <= 0 <= high
//
//   tube              f is 0 for |r| <= tube
//   k(u)              bend_below for u < 0, bend_above for u > 0; 0: f is piecewise linear
//   low, high         the least and the largest slope of f
//
// A loss of this kind derives from PiecewiseQuadratic<itself> and says these numbers.
#pragma once
#include <algorithm>
#include <cmath>

#include "losses/pointwise/residual.hpp"

namespace maxmargin {

template <class Loss>
struct PiecewiseQuadratic {
  static constexpr bool kOnMargins = false;
  static constexpr bool kPiecewiseLinear = false;
  static constexpr double kVisitLogarithms = 0;
  static constexpr int kKinks = 1;  // of a piecewise linear f: at 0, or 2 at the ends of the tube
  static constexpr double target() { return 0; }
  static constexpr double tube() { return 0; }
  static constexpr double low() { return -kUnbounded; }
  static constexpr double high() { return kUnbounded; }
  static constexpr double bend_below() { return 0; }
  static constexpr double bend_above() { return 0; }

  MAXMARGIN_INLINE double value(double r) const {
    const Loss& f = self();
    const double above = r - f.tube(), below = -r - f.tube();
    if constexpr (Loss::kPiecewiseLinear)
      return above > 0 ? f.high() * above : (below > 0 ? -f.low() * below : 0.0);
    // By Fenchel: f(r) = u x - k u^2 / 2 at the slope u, where x is how far r leaves the tube.
    const double u = slope(r), x = above > 0 ? above : below, bend = bend_of(u);
    return std::fabs(u) * (x - 0.5 * bend * std::fabs(u));
  }
  MAXMARGIN_INLINE double slope(double r) const {
    const Loss& f = self();
    const double above = r - f.tube(), below = r + f.tube();
    if constexpr (Loss::kPiecewiseLinear) return above > 0 ? f.high() : (below < 0 ? f.low() : 0.0);
    const double up = std::min(above / f.bend_above(), f.high());
    const double down = std::max(below / f.bend_below(), f.low());
    return (above > 0 ? up : 0.0) + (below < 0 ? down : 0.0);  // two masks, no branch
  }
  MAXMARGIN_INLINE double conjugate(double u) const {
    const double size = std::fabs(u);
    return size * (self().tube() + 0.5 * bend_of(u) * size);
  }
  MAXMARGIN_INLINE Interval conjugate_slope(double u) const {
    const Loss& f = self();
    const double bent = bend_of(u) * u;
    const double left = u > 0 ? bent + f.tube() : bent - f.tube();
    const double right = u < 0 ? bent - f.tube() : bent + f.tube();
    return {u <= f.low() ? -kUnbounded : left, u >= f.high() ? kUnbounded : right};
  }
  MAXMARGIN_INLINE double curvature(double u) const {
    const Loss& f = self();
    const int kink = int{u <= f.low()} | int{u >= f.high()} | (int{u == 0} & int{f.tube() > 0});
    return kink ? kUnbounded : bend_of(u);
  }
  MAXMARGIN_INLINE double step(double r, double u, double s) const {
    const Loss& f = self();
    const double v = s * u + r, above = v - f.tube(), below = v + f.tube();
    const double up = std::min(above / (f.bend_above() + s), f.high());
    const double down = std::max(below / (f.bend_below() + s), f.low());
    return (above > 0 ? up : 0.0) + (below < 0 ? down : 0.0);
  }
  MAXMARGIN_INLINE double clip(double u) const {
    return std::min(std::max(u, self().low()), self().high());
  }

  // Where a piecewise linear f bends: its slope rises by rise() there.
  MAXMARGIN_INLINE double kink(int j) const {
    return Loss::kKinks == 1 ? 0.0 : (j == 0 ? -self().tube() : self().tube());
  }
  MAXMARGIN_INLINE double rise() const { return (self().high() - self().low()) / Loss::kKinks; }

 private:
  MAXMARGIN_INLINE const Loss& self() const { return static_cast<const Loss&>(*this); }
  MAXMARGIN_INLINE double bend_of(double u) const {
    return u < 0 ? self().bend_below() : self().bend_above();
  }
};

}  // namespace maxmargin
