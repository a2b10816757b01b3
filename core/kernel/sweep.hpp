// The one pass over n an iteration makes, Procedures 1 and 2 of the no-offset paper in one: it
// updates the residuals by the two rows of the step, adds up the loss side of the gap, and finds
// the best next directions. Each kernel row is read once.
//
//   r_i        residual y_i - f_i; y_i r_i is the gradient of the dual
//   c_i        y_i C_i
//   low, high  how far beta_i = y_i a_i may still move; both 0 keeps i out of the problem
//   E          sum_i C_i clip(y_i r_i, 0, ceiling)
//   gain_i     of the best step in direction i alone: d (r_i - d k_ii / 2), d = clip(r_i / k_ii,
//   low, high)
//
// Residuals and E are float64. Gains only rank the directions, so float32 will do: the step itself
// is computed afresh in float64.
#pragma once
#include <cstddef>

namespace maxmargin {

struct Direction {
  float gain = 0;
  std::ptrdiff_t index = -1;  // -1: nothing to gain
};

// Rows and numbers of the step to apply; an absent row has a pointer to any row and d = 0.
struct SweepUpdate {
  const float* first;
  const float* second;
  double d_first, d_second;  // steps of beta
};

struct SweepArrays {
  double* r;
  const double* c;
  const float* low;
  const float* high;
  const float* diagonal;  // null: k_ii = 1 everywhere
  const float* inverse;   // 1 / k_ii, or a huge number where k_ii = 0
};

// Applies the update to [begin, end), raises `best`, and adds to E unless that is null: a quarter
// of the work, wanted only when the gap is looked at.
void sweep(const SweepArrays& arrays, const SweepUpdate& update, std::size_t begin, std::size_t end,
           double ceiling, double* E, Direction& best);

// The same pass for regression (kernel/regression.hpp): beta_i has a box, and h_i a parabola for
// each sign of it.
struct RegressionSweep {
  double* r;
  const double* beta;
  const double* low;
  const double* high;
  const double* bend_below;
  const double* bend_above;
  const double* inverse_below;  // 1 / (k_ii + bend)
  const double* inverse_above;
  const double* diagonal;
  double tube;
};
void sweep_regression(const RegressionSweep& arrays, const SweepUpdate& update, std::size_t begin,
                      std::size_t end, Direction& best);

}  // namespace maxmargin
