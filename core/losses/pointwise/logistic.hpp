// f(r) = log(1 + e^r),   r = -y p;   f'(r) = 1 / (1 + e^-r);   f*(u) = u log u + (1 - u) log(1 - u)
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponential.hpp"
#include "losses/pointwise/residual.hpp"

namespace maxmargin {

struct Logistic {
  static constexpr bool kOnMargins = true;
  static constexpr bool kPiecewiseLinear = false;
  static constexpr double kVisitLogarithms = 60;
  static constexpr double target() { return 0; }

  MAXMARGIN_INLINE double value(double r) const {
    return std::max(r, 0.0) + log_one_plus(exp_of_negative(-std::fabs(r)));
  }
  MAXMARGIN_INLINE double slope(double r) const {
    const double e = exp_of_negative(-std::fabs(r));
    return (r > 0 ? 1.0 : e) / (1 + e);
  }
  MAXMARGIN_INLINE double conjugate(double u) const {
    const double least = std::min(u, 1 - u);  // exact, and f* is even about 1/2
    const bool vanishes = least < std::numeric_limits<double>::min();
    const double m = vanishes ? 0.5 : least;
    const double sum = m * log_of_positive(m) + (1 - m) * log_one_plus(-m);
    return vanishes ? 0.0 : sum;
  }
  // At the ends of the domain f*' is infinite, but a float64 that rounds to them is not there: to
  // the inside the slope is that of the last number before them.
  MAXMARGIN_INLINE Interval conjugate_slope(double u) const {
    constexpr double before_zero = -745, before_one = 36.7;
    if (u <= 0) return {-kUnbounded, before_zero};
    if (u >= 1) return {before_one, kUnbounded};
    const double x = logit(u);
    return {x, x};
  }
  MAXMARGIN_INLINE double curvature(double u) const {
    const double variance = u * (1 - u);
    return variance > 0 ? 1 / variance : kUnbounded;
  }
  MAXMARGIN_INLINE double clip(double u) const { return std::min(std::max(u, 0.0), 1.0); }

  MAXMARGIN_INLINE double step(double r, double u, double s) const {
    if (s == 0) return slope(r);
    const bool is_inside = u > 0 && u < 1;
    return step_from(is_inside ? logit(u) : r, is_inside ? u : slope(r), r, u, s).u;
  }
  // The root of g(x) = x - r + s (slope(x) - u) in x = logit(u'), by Halley's method from x, of
  // which the slope is known. g increases, with its root between r - s (1 - u) and r + s u. There
  // f*(u') = u' x - f(x).
  MAXMARGIN_INLINE DualStep step_from(double x, double share, double r, double u, double s) const {
    double low = r - s * (1 - u), high = r + s * u, e = 0;
    if (x < low || x > high) share = slope(x = x < low ? low : high);
    for (int k = 0; k < kMostSteps; ++k) {
      const double g = x - r + s * (share - u), bend = s * share * (1 - share);
      (g < 0 ? low : high) = x;
      const double slope_of_g = 1 + bend, third = 0.5 * bend * (1 - 2 * share) / slope_of_g;
      const double guess = x - g / (slope_of_g - g * third);
      const bool is_inside = guess > low && guess < high;
      const double next = is_inside ? guess : 0.5 * (low + high);
      const double change = std::fabs(next - x) / (1 + std::fabs(x));
      x = next;
      e = std::exp(-std::fabs(x));
      share = (x > 0 ? 1.0 : e) / (1 + e);
      if (change <= (is_inside ? kNearly : kPrecision)) break;
    }
    return {share, point_at(x, share, e)};
  }

 private:
  static constexpr int kMostSteps = 60;
  static constexpr double kPrecision = 1e-9;
  static constexpr double kNearly = 0.01;  // what is left is about a tenth of its cube
  MAXMARGIN_INLINE double logit(double u) const { return std::log(u) - std::log1p(-u); }
  MAXMARGIN_INLINE DualPoint point_at(double x, double share, double e) const {
    if (share <= 0 || share >= 1) return {conjugate_slope(share), 0.0};
    return {{x, x}, share * x - std::max(x, 0.0) - log_one_plus(e)};
  }
};

MAXMARGIN_INLINE DualPoint dual_point(const Logistic& f, double u) {
  if (u <= 0 || u >= 1) return {f.conjugate_slope(u), 0.0};
  const double rest = std::log1p(-u), x = std::log(u) - rest;
  return {{x, x}, u * x + rest};
}
MAXMARGIN_INLINE DualStep dual_step(const Logistic& f, double r, double u, double s,
                                    const DualPoint& at) {
  const bool is_inside = u > 0 && u < 1;
  return f.step_from(is_inside ? at.slopes.low : r, is_inside ? u : f.slope(r), r, u, s);
}

}  // namespace maxmargin
