// The exact step in one or two variables (Lemmas 1 and 2 of the no-offset paper). In the signed
// variables beta_i = y_i a_i the dual is
//
//   W(beta + d) - W(beta) = <r, d> - 1/2 <d, k d>,      low <= d <= high,
//
// whatever the labels are, so no case distinction over them is needed.
#pragma once
#include <algorithm>
#include <limits>

namespace maxmargin {

// One variable: its residual, k_ii, and how far it may move.
struct Variable {
  double r, k, low, high;
};

struct Step {
  double d_first = 0, d_second = 0, gain = 0;
};

inline double clip(double x, double low, double high) { return std::max(low, std::min(x, high)); }

// The best move of one variable whose residual is r. k = 0 (a zero row of a linear kernel) goes all
// the way.
inline double best_move(double r, const Variable& v) {
  if (v.k > 0) return clip(r / v.k, v.low, v.high);
  return r > 0 ? v.high : (r < 0 ? v.low : 0.0);
}

inline double gain_of(const Variable& a, const Variable& b, double k, double da, double db) {
  return da * (a.r - 0.5 * da * a.k) + db * (b.r - 0.5 * db * b.k) - da * db * k;
}

inline Step step_one(const Variable& a) {
  const double d = best_move(a.r, a);
  return {d, 0, d * (a.r - 0.5 * d * a.k)};
}

namespace detail {
// The first variable moves by da, the second does its best.
inline void try_first(const Variable& a, const Variable& b, double k, double da, Step& best) {
  const double db = best_move(b.r - k * da, b);
  const double gain = gain_of(a, b, k, da, db);
  if (gain > best.gain) best = {da, db, gain};
}
inline void try_second(const Variable& a, const Variable& b, double k, double db, Step& best) {
  const double da = best_move(a.r - k * db, a);
  const double gain = gain_of(a, b, k, da, db);
  if (gain > best.gain) best = {da, db, gain};
}
}  // namespace detail

// Below this multiple of k_ii k_jj the determinant counts as zero: the points are equal.
constexpr double kFlat = 1e-12;

// The maximum over the box. If the free optimum lies outside, concavity puts the maximum on an edge
// that was crossed. For equal points (determinant 0) an edge holds a maximum too: all four are
// tried.
inline Step step_two(const Variable& a, const Variable& b, double k) {
  const double det = a.k * b.k - k * k;
  Step best{0, 0, -std::numeric_limits<double>::infinity()};  // the box need not hold 0
  if (det > kFlat * a.k * b.k) {
    const double da = (b.k * a.r - k * b.r) / det, db = (a.k * b.r - k * a.r) / det;
    const bool a_inside = da >= a.low && da <= a.high, b_inside = db >= b.low && db <= b.high;
    if (a_inside && b_inside) return {da, db, gain_of(a, b, k, da, db)};
    if (!a_inside) detail::try_first(a, b, k, clip(da, a.low, a.high), best);
    if (!b_inside) detail::try_second(a, b, k, clip(db, b.low, b.high), best);
    return best;
  }
  detail::try_first(a, b, k, a.low, best);
  detail::try_first(a, b, k, a.high, best);
  detail::try_second(a, b, k, b.low, best);
  detail::try_second(a, b, k, b.high, best);
  return best;
}

// Whether a step of two variables may gain more than `gain`: whether it would if no box held it
// back, which needs no division. Equal points always may.
inline bool may_gain(double ra, double ka, double rb, double kb, double k, double gain) {
  const double product = ka * kb, det = product - k * k;
  return det <= kFlat * product || kb * ra * ra + ka * rb * rb - 2 * k * ra * rb > 2 * gain * det;
}

// The gain where both stay inside their boxes (the formula of working sets 512 to 2048).
inline double inner_gain(const Variable& a, const Variable& b, double k) {
  const double det = a.k * b.k - k * k;
  if (det <= kFlat * a.k * b.k) return 0;
  return 0.5 * (b.k * a.r * a.r + a.k * b.r * b.r - 2 * k * a.r * b.r) / det;
}

// The gain of the free optimum clipped to the box (working set 128).
inline double clipped_gain(const Variable& a, const Variable& b, double k) {
  const double det = a.k * b.k - k * k;
  if (det <= kFlat * a.k * b.k) return step_two(a, b, k).gain;
  const double da = clip((b.k * a.r - k * b.r) / det, a.low, a.high);
  const double db = clip((a.k * b.r - k * a.r) / det, b.low, b.high);
  return gain_of(a, b, k, da, db);
}

}  // namespace maxmargin
