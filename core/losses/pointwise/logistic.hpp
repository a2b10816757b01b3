// f(r) = log(1 + e^r),   r = -y p;   f'(r) = 1 / (1 + e^-r);   f*(u) = u log u + (1 - u) log(1 - u)
#pragma once
#include <algorithm>
#include <cmath>

#include "losses/pointwise/residual.hpp"

namespace maxmargin {

struct Logistic {
  static constexpr bool kOnMargins = true;
  static constexpr bool kPiecewiseLinear = false;
  static constexpr double kVisitLogarithms = 100;
  static constexpr double target() { return 0; }

  MAXMARGIN_INLINE double value(double r) const {
    return std::max(r, 0.0) + std::log1p(std::exp(-std::fabs(r)));
  }
  MAXMARGIN_INLINE double slope(double r) const {
    const double e = std::exp(-std::fabs(r));
    return (r > 0 ? 1.0 : e) / (1 + e);
  }
  MAXMARGIN_INLINE double conjugate(double u) const {
    const double low = u > 0 ? u * std::log(u) : 0.0;
    return u < 1 ? low + (1 - u) * std::log1p(-u) : low;
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
    return s == 0 ? slope(r) : step_from(u > 0 && u < 1 ? logit(u) : r, r, u, s).u;
  }
  // The root of g(x) = x - r + s (slope(x) - u) in x = logit(u'), by Newton's method from x. g
  // increases, with its root between r - s (1 - u) and r + s u. There f*(u') = u' x - f(x).
  MAXMARGIN_INLINE DualStep step_from(double x, double r, double u, double s) const {
    double low = r - s * (1 - u), high = r + s * u;
    x = std::min(std::max(x, low), high);
    double e = std::exp(-std::fabs(x)), share = (x > 0 ? 1.0 : e) / (1 + e);
    for (int k = 0; k < kMostSteps; ++k) {
      const double g = x - r + s * (share - u);
      (g < 0 ? low : high) = x;
      const double guess = x - g / (1 + s * share * (1 - share));
      const bool is_inside = guess > low && guess < high;
      const double next = is_inside ? guess : 0.5 * (low + high);
      const double change = std::fabs(next - x) / (1 + std::fabs(x));
      x = next;
      e = std::exp(-std::fabs(x));
      share = (x > 0 ? 1.0 : e) / (1 + e);
      if (change <= (is_inside ? kNearly : kPrecision)) break;
    }
    return {share, share * x - std::max(x, 0.0) - std::log1p(e)};
  }

 private:
  static constexpr int kMostSteps = 60;
  static constexpr double kPrecision = 1e-9;
  static constexpr double kNearly = 1e-5;  // Newton's next step would be about its square
  MAXMARGIN_INLINE double logit(double u) const { return std::log(u) - std::log1p(-u); }
};

MAXMARGIN_INLINE DualPoint dual_point(const Logistic& f, double u) {
  if (u <= 0 || u >= 1) return {f.conjugate_slope(u), 0.0};
  const double rest = std::log1p(-u), x = std::log(u) - rest;
  return {{x, x}, u * x + rest};
}
MAXMARGIN_INLINE DualStep dual_step(const Logistic& f, double r, double u, double s,
                                    const DualPoint& at) {
  return f.step_from(u > 0 && u < 1 ? at.slopes.low : r, r, u, s);
}

}  // namespace maxmargin
