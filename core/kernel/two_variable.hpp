// SVM without offset by steps in two dual variables.
// I. Steinwart, D. Hush, C. Scovel, Training SVMs without offset, JMLR 12 (2011).
//
//   maximise  W(a) = sum_i a_i - 1/2 sum_ij a_i a_j y_i y_j k(x_i, x_j),     0 <= a_i <= C_i
//
// in the signed variables beta_i = y_i a_i, where one unsigned kernel serves all labels:
//
//   beta_i   between 0 and c_i = y_i C_i        f_i = sum_j beta_j k(x_j, x_i)
//   r_i      y_i - f_i, the residual            g_i = y_i r_i, the gradient of W
//   T        <a, K a> - <e, a> = -<beta, r>     kept up to date in O(1)
//   E        sum_i C_i clip(g_i, 0, 2)          with the plain gap: clip(g_i, 0, infinity)
//   S        T + E, the (clipped) gap           stop at S <= tolerance, rules (9) and (7),
//   P        1/2 ||f||^2 + E                    or at S <= tolerance * P with the plain E
//
// (g_i is what the paper writes as nabla W_i.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "base/stop.hpp"
#include "kernel/rows.hpp"
#include "kernel/step.hpp"
#include "kernel/sweep.hpp"

namespace maxmargin {

// How the pair is chosen: a sum of these, candidates compete by exact gain (section 3.2 of the
// paper). i is always the direction of largest gain on its own.
enum WorkingSet : int {
  kAllPairs = 0,               // every pair: the reference, O(n^2) an iteration
  kWithPrevious = 1,           // i with the i of the iteration before
  kBestOfHalves = 2,           // the best of each half of the indices
  kWithNeighbours = 4,         // i with one of its nearest neighbours, while inner points move
  kStepAhead = 8,              // i with the best direction after i has moved
  kViolatingPair = 16,         // the two largest violations of optimality
  kBestPartner = 32,           // i with the partner of largest exact gain
  kRandomPartner = 64,         // the same over a random fifth of the points
  kClippedPartner = 128,       // i with the partner of largest approximate gain
  kRandomPairs = 256,          // n random pairs
  kInnerPartner = 512,         // i with an inner point, by the formula for inner points
  kRandomInnerPartner = 1024,  // the same over a random fifth of the inner points
  kRandomInnerPairs = 2048,    // added to others: random pairs of inner points
  kAllWorkingSets = 4095,
  kOneVariable = -1,  // the 1D solver
};

// What the tolerance limits: the clipped gap, the plain one, or the plain one as a share of P.
enum class GapRule : int { clipped, plain, relative };

struct TwoVariableOptions {
  int working_set = kWithPrevious | kBestOfHalves | kWithNeighbours;
  GapRule rule = GapRule::relative;
  std::uint64_t seed = 0;
};

// Nearest neighbours, `stored` a row, -1 for none; the first `used` that take part are candidates.
// Without a table they are found in the kernel row of a point when they are first asked for.
struct Neighbours {
  const std::int32_t* table = nullptr;
  std::size_t stored = 0, used = 0;
};

// What the caller owns and may change between two runs (then call begin()).
struct TwoVariableArrays {
  double* beta;
  double* r;
  const double* c;
};

enum class RunEnd : int { tolerance, limit, stopped, stalled };

class TwoVariable {
 public:
  // `ranges`: the points that take part, e.g. all but one fold. Others must have c_i = 0.
  TwoVariable(KernelRows& rows, std::vector<Range> ranges, TwoVariableArrays arrays,
              Neighbours neighbours, const TwoVariableOptions& options);

  // Recomputes T and E and finds the first directions; after a change of the arrays.
  void begin();
  // Steps until the gap is within the tolerance or for at most `limit` iterations. The thread that
  // owns `stop` polls it, others only look at the flag.
  RunEnd run(double tolerance, std::uint64_t limit, Stop* stop, bool owns_stop);

  double T() const { return T_; }
  double E() const { return E_; }
  double S() const { return T_ + E_; }
  double P() const { return 0.5 * (A_ + T_) + E_; }
  double gained() const { return gained_; }
  std::uint64_t iterations() const { return iterations_; }

 private:
  struct Pair {
    std::ptrdiff_t first = -1, second = -1;  // second = -1: a step in one variable
    Step step;
  };
  Variable variable(std::size_t i) const;
  bool inner(std::size_t i) const;
  bool within(double tolerance) const {
    return S() <= (options_.rule == GapRule::relative ? tolerance * P() : tolerance);
  }
  void note_bounds(std::size_t i);
  void sweep_all(const SweepUpdate& update, bool looks);
  void look();  // T and E as they are, and the best directions
  Direction best() const { return half_[0].gain >= half_[1].gain ? half_[0] : half_[1]; }
  Direction other() const { return half_[0].gain >= half_[1].gain ? half_[1] : half_[0]; }

  Pair select();
  void consider(std::size_t i, std::size_t j, double k, Pair& pair) const;
  void consider_neighbours(std::size_t i, const float* row, Pair& pair);
  void find_neighbours(std::size_t i, const float* row);
  void consider_step_ahead(std::size_t i, const float* row, Pair& pair) const;
  void consider_violating_pair(Pair& pair);
  void consider_partners(std::size_t i, const float* row, Pair& pair);
  void consider_inner_partners(std::size_t i, const float* row, Pair& pair);
  void consider_all_pairs(Pair& pair);
  void consider_random_pairs(Pair& pair);
  void consider_random_inner_pairs(Pair& pair);
  void refuse_indefinite(std::size_t i, std::size_t j, double k) const;
  void move(const Pair& pair, bool looks);
  template <class F>
  void each_point(F f) const {
    for (const Range& range : ranges_)
      for (std::size_t i = range.begin; i < range.end; ++i) f(i);
  }
  std::size_t random_point();
  const std::vector<std::size_t>& inner_points();

  KernelRows& rows_;
  std::vector<Range> ranges_;
  std::size_t points_ = 0;  // how many take part
  TwoVariableArrays arrays_;
  Neighbours neighbours_;
  TwoVariableOptions options_;
  bool unit_diagonal_ = true;
  std::vector<float> low_, high_;  // how far each beta_i may still move
  std::vector<float> diagonal_, inverse_;
  std::vector<std::size_t> inner_;
  std::vector<std::int32_t> found_;  // neighbours found on the way, `used` a row
  std::vector<float> distances_;
  Heap heap_;
  Random random_;

  double T_ = 0, E_ = 0, gained_ = 0;
  double A_ = 0;  // sum_i a_i, so that ||f||^2 = A + T
  bool E_is_known_ = false;
  Direction half_[2];
  std::ptrdiff_t previous_ = -1;
  std::uint64_t iterations_ = 0;
  int inner_steps_ = 0, steps_counted_ = 0;
  bool mostly_inner_ = false;
};

}  // namespace maxmargin
