// f(r) = log(1 + e^r),   r = -y p;   f'(r) = 1 / (1 + e^-r);   f*(u) = u log u + (1 - u) log(1 - u)
#pragma once
#include <algorithm>
#include <cmath>

#include "losses/pointwise/residual.hpp"

namespace maxmargin {

struct Logistic {
  static constexpr bool kOnMargins = true;
  static constexpr bool kPiecewiseLinear = false;
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

  // The root of g(x) = x - r + s (slope(x) - u) in x = logit(u'), by Newton's method. g increases,
  // with its root between r - s (1 - u) and r + s u.
  MAXMARGIN_INLINE double step(double r, double u, double s) const {
    if (s == 0) return slope(r);
    double low = r - s * (1 - u), high = r + s * u;
    double x = std::min(std::max(u > 0 && u < 1 ? logit(u) : r, low), high);
    double share = slope(x);
    for (int k = 0; k < kMostSteps; ++k) {
      const double g = x - r + s * (share - u);
      (g < 0 ? low : high) = x;
      const double guess = x - g / (1 + s * share * (1 - share));
      const double next = guess > low && guess < high ? guess : 0.5 * (low + high);
      const bool settled = std::fabs(next - x) <= kPrecision * (1 + std::fabs(x));
      x = next;
      share = slope(x);
      if (settled) break;
    }
    return share;
  }

 private:
  static constexpr int kMostSteps = 60;
  static constexpr double kPrecision = 1e-9;
  MAXMARGIN_INLINE double logit(double u) const { return std::log(u) - std::log1p(-u); }
};

}  // namespace maxmargin
