// Dual coordinate descent for the hinge loss (Hsieh et al. 2008; ALGORITHMS section 4).
//
//   G_i = y_i <w, x_i> - 1;   a_i <- clip(a_i - G_i / ||x_i||^2, 0, C_i);   w += change y_i x_i
//
// Rows whose a_i sits at a bound and whose gradient points well outside are set aside ("shrunk")
// and come back when `look` is given the predictions of all rows.
//
// Where many rows lie on the margin, epochs creep along nearly the same direction. Every few epochs
// a "leap" goes on along the way that a and w have come since before the last one, as far as D
// rises most, with each a_i held at its bounds: momentum, whose weight is found by a line search. A
// leap by which D does not rise is not made.
//
// One thread takes the steps, so a run is a function of the seed alone. (Threads on copies of w
// that are merged by a line search were tried: on two cores the epochs took no less time, and late
// in a run several times as many were needed.) The looks at all rows between epochs use all
// threads.
#pragma once
#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

class DualDescent {
 public:
  struct Epoch {
    double gap = 0;           // P - D, each row's share as it was when the row was visited
    double rise = 0;          // of D
    std::size_t visited = 0;  // rows looked at
    std::size_t entries = 0;  // their non-zeros
  };
  struct Sums {
    double a = 0;      // sum_i a_i
    double ayp = 0;    // sum_i a_i y_i p_i = <w, sum_i a_i y_i x_i>
    double hinge = 0;  // sum_i C_i max(0, 1 - y_i p_i)
    Sums& operator+=(const Sums& other);
  };

  // q_i = y_i C_i; a0 (n) must be feasible, nullptr means 0; w = sum_i a_i y_i x_i stays the
  // caller's.
  DualDescent(const Rows& rows, const double* q, const double* a0, double* w, std::uint64_t seed);

  // Visits the rows not set aside once, in random order, and leaps where it is due. Throws Stopped;
  // a and w stay consistent.
  Epoch epoch(Stop* stop);
  // Sums over all rows, given their predictions at w, and the choice of rows worth visiting: at a0,
  // those that violate optimality.
  Sums look(const double* p, Pool& pool);
  void copy_dual(double* a) const;
  std::size_t active() const { return active_; }

 private:
  // What a visit needs to know of a row, side by side: rows are visited in random order, and every
  // array apart would be another wait for memory.
  struct alignas(32) State {
    double a, q;
    double norm;  // ||x_i||^2, kUnknown before the first visit
    double mark;  // a_i where the way of the next leap begins
    // Where a leap of length t takes a_i, if no bound holds it.
    double onward(double t) const { return a + t * (a - mark); }
  };
  void shuffle();  // the order of the rows to visit
  template <class View>
  Epoch visit(const View& rows, Stop* stop);
  void mark();
  // The rows of `reach_`: those to visit at the mark, or all, in the order they lie in memory.
  std::size_t reached(std::size_t k) const { return reach_ == state_.size() ? k : order_[k]; }
  double leap(Stop* stop);  // the rise of D; marks the way of the next one
  template <class View>
  double tried(const View& rows, double t, Stop* stop);
  bool is_wanted(const State& row, double G) const;

  Rows rows_;
  double* w_;
  std::vector<State> state_;
  std::vector<std::uint32_t> order_;  // order_[0 .. active_) are visited
  std::vector<std::uint8_t> wanted_;
  std::size_t active_ = 0;
  std::vector<double> marked_w_, tried_w_;  // empty before the first mark
  std::size_t stride_;                      // epochs to the next leap
  std::size_t reach_ = 0;                   // rows among which are all that changed since the mark
  struct {
    std::size_t epochs = 0, entries = 0;
  } since_mark_;
  Random random_;
  double upper_, lower_;  // M+ and M-: rows with gradients beyond are set aside
};

}  // namespace maxmargin
