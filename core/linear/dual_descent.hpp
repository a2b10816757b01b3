// Dual coordinate descent (Hsieh et al. 2008; Yu et al. 2011 for logistic regression; Ho and Lin
// 2012 for regression), for every pointwise loss. The symbols are those of
// losses/pointwise/residual.hpp:
//
//   r_i = t_i - y_i <w, x_i>;   u_i <- step(r_i, u_i, c_i ||x_i||^2);   w += q_i (change) x_i
//
// Rows that sit at a kink of the dual with its slopes to both sides pointing well back are set
// aside ("shrunk") and come back when `check_gap` is given the predictions of all rows.
//
// Where many rows are between kinks, epochs creep along nearly the same direction. Every few epochs
// an extrapolation goes on along the direction from an anchor, where u and w were before the last
// one, to where they are now, as far as D rises most, with each u_i clipped to its domain:
// momentum, whose weight is found by a line search. A trial point at which D is not higher is not
// taken.
//
// One thread takes the steps, so a run is a function of the seed alone. (Threads on copies of w
// that are merged by a line search were tried: on two cores the epochs took no less time, and late
// in a run several times as many were needed.) The gap checks between epochs use all threads.
#pragma once
#include <cstdint>
#include <memory>

#include "base/parallel.hpp"
#include "losses/pointwise.hpp"
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
    DualSum dual;      // sum_i c_i (t_i u_i - f*(u_i))
    double bp = 0;     // sum_i b_i p_i = <w, sum_i b_i x_i>
    double value = 0;  // sum_i c_i f(r_i)
    Sums& operator+=(const Sums& other);
  };

  virtual ~DualDescent() = default;

  // Visits the rows not set aside once, in random order, and extrapolates where it is due. Throws
  // Stopped; u and w stay consistent.
  virtual Epoch epoch(Stop* stop) = 0;
  // Sums over all rows, given their predictions at w, and the choice of rows worth visiting: at u0,
  // those that violate optimality.
  virtual Sums check_gap(const double* p, Pool& pool) = 0;
  virtual void copy_dual(double* u) const = 0;
  virtual std::size_t active() const = 0;
};

// u0 (n) must be in the domain, nullptr means 0; w = sum_i q_i u_i x_i stays the caller's.
std::unique_ptr<DualDescent> make_dual_descent(const Rows& rows, const PointwiseSum& sum,
                                               const double* u0, double* w, std::uint64_t seed);

}  // namespace maxmargin
