// Kernel regression without offset by steps in two dual variables, for losses of one residual whose
// conjugate is  f*(u) = tube |u| + bend u^2 / 2  on [low, high], with a bend for each sign of u
// (losses/pointwise/piecewise_quadratic.hpp). The symbols are those of
// losses/pointwise/residual.hpp, with beta_i = c_i u_i:
//
//   maximise  D(beta) = <t, beta> - sum_i h_i(beta_i) - 1/2 <beta, K beta>,   h_i(b) = c_i f*(b /
//   c_i) r_i       t_i - f_i, the residual; f_i = sum_j beta_j k(x_j, x_i) gap       sum_i c_i
//   f(r_i) + h_i(beta_i) - beta_i r_i, every term >= 0
//
// i is the direction of largest gain on its own; it moves together with the i of the iteration
// before, with the best of the other half of the points, or alone, whichever gains most. Between
// two kinks h is a parabola, so that the exact step of step.hpp serves each pair of pieces.
#pragma once
#include <cstdint>
#include <vector>

#include "base/stop.hpp"
#include "kernel/rows.hpp"
#include "kernel/step.hpp"
#include "kernel/sweep.hpp"
#include "kernel/two_variable.hpp"
#include "losses/pointwise.hpp"

namespace maxmargin {

// The five numbers of a loss of residuals.
struct LossShape {
  double tube, low, high, bend_below, bend_above;
  double value(double r) const;
};

LossShape shape_of(const PointwiseLoss& loss);

// What the caller owns and may change between two runs (then call begin()). c_i = 0 keeps a point
// out of the problem.
struct RegressionArrays {
  double* beta;
  double* r;
  const double* c;
  const double* t;
};

class RegressionSteps {
 public:
  RegressionSteps(KernelRows& rows, std::vector<Range> ranges, RegressionArrays arrays,
                  const LossShape& shape);

  // Notes costs, boxes and the first directions; after a change of the arrays.
  void begin();
  // Steps until gap <= tolerance * max(P, scale), or for at most `limit` iterations. The thread
  // that owns `stop` polls it, others only look at the flag.
  RunEnd run(double tolerance, double scale, std::uint64_t limit, Stop* stop, bool owns_stop);

  double gap() const { return gap_; }
  double P() const { return P_; }
  std::uint64_t iterations() const { return iterations_; }

 private:
  struct Pair {
    std::ptrdiff_t first = -1, second = -1;
    Step step;
  };
  struct Piece {  // a parabola of h_i: the step's variable, and h(beta) - its own value there
    Variable variable;
    double offset;
  };
  int pieces(std::size_t i, Piece* out) const;
  double h(std::size_t i, double b) const;
  double bend(std::size_t i, bool below) const { return (below ? bend_below_ : bend_above_)[i]; }
  void note(std::size_t i);
  void note_reach(std::size_t i);
  Pair select();
  void consider(std::size_t i, std::size_t j, double k, Pair& pair) const;
  void move(const Pair& pair);
  double shift(std::size_t i, double d);
  void sweep_all(const float* first, const float* second, double d_first, double d_second);
  void look();

  KernelRows& rows_;
  std::vector<Range> ranges_;
  std::size_t points_ = 0;
  RegressionArrays arrays_;
  LossShape shape_;
  std::vector<double> low_, high_, bend_below_, bend_above_, inverse_below_, inverse_above_;
  // Without tube and bend (quantiles) h is linear, and the sweep of the hinge serves: it needs how
  // far each beta may still move, in float32.
  bool straight_ = false, unit_diagonal_ = true;
  std::vector<float> below_, above_, diagonal_, inverse_;
  std::vector<float> zeros_;  // a row for a sweep that changes nothing
  Direction half_[2];
  std::ptrdiff_t previous_ = -1;
  double gap_ = 0, P_ = 0;
  std::uint64_t iterations_ = 0;
};

}  // namespace maxmargin
