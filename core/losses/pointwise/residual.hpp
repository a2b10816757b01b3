// What a pointwise loss is: a convex f(r) >= 0 of one residual, with min f = f* (0) = 0.
//
//   row i costs      c_i f(r_i)           r_i = t_i - y_i p_i,   p_i = <w, x_i>
//   dual share       u_i in df(r_i)       b_i = q_i u_i,   w = sum_i b_i x_i,   q_i = y_i c_i
//   primal           P = 1/2 ||w||^2 + sum_i c_i f(r_i)
//   dual             D = sum_i c_i (t_i u_i - f*(u_i)) - 1/2 ||sum_i b_i x_i||^2
//
// A loss on margins has y_i = -1 or 1 and the same target for every row; a loss on residuals has
// y_i = 1 and a target for each row. One number q_i holds label and cost.
//
// A loss is a struct with these members, each a few lines (r residual, u dual share, s >= 0):
//
//   kOnMargins, target()   whether it is of margins, and t if so
//   kPiecewiseLinear       whether f' is a step function
//   kVisitLogarithms       what the logarithms of a visit of dual descent cost, in entries of a row
//   value(r)               f(r)
//   slope(r)               u in df(r)
//   conjugate(u)           f*(u) = sup_r u r - f(r), for u in its domain
//   conjugate_slope(u)     the ends of df*(u); infinite beyond the domain
//   curvature(u)           f*''(u); infinite at a kink of f* or an end of its domain
//   step(r, u, s)          argmin over u' of f*(u') - (u' - u) r + s/2 (u' - u)^2
//   clip(u)                the nearest number in the domain
//
// `step` is at once the step in one dual variable (s = c ||x||^2), the multiplier of an augmented
// Lagrangian with penalty 1/s, and, for s = 0, the slope of a smooth loss.
// `piecewise_quadratic.hpp` derives all of them for losses whose slope is piecewise linear.
#pragma once
#include <limits>

#include "base/clones.hpp"

namespace maxmargin {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Interval {
  double low, high;
};

// f* at u. A loss with logarithms has overloads of these two that compute each of them once, and
// dual descent keeps them for every row.
struct DualPoint {
  Interval slopes;
  double conjugate;
};
template <class Loss>
MAXMARGIN_INLINE DualPoint dual_point(const Loss& f, double u) {
  return {f.conjugate_slope(u), f.conjugate(u)};
}

// Where step(r, u, s) leads to, with f* there; `at` is f* at u.
struct DualStep {
  double u;
  DualPoint at;
};
template <class Loss>
MAXMARGIN_INLINE DualStep dual_step(const Loss& f, double r, double u, double s,
                                    const DualPoint& /* at */) {
  const double to = f.step(r, u, s);
  return {to, dual_point(f, to)};
}

}  // namespace maxmargin
