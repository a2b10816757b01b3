// Dual coordinate descent for the hinge loss (Hsieh et al. 2008; ALGORITHMS section 4).
//
//   G_i = y_i <w, x_i> - 1;   a_i <- clip(a_i - G_i / ||x_i||^2, 0, C_i);   w += change y_i x_i
//
// Rows whose a_i sits at a bound and whose gradient points well outside are set aside ("shrunk")
// and come back when `refresh` is given the predictions of all rows, which a gap evaluation has
// anyway.
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
    double most = 0, least = 0;  // extreme projected gradients met
    std::size_t visited = 0;     // rows looked at
    std::size_t entries = 0;     // their non-zeros
  };

  // q_i = y_i C_i; alpha (n) must be feasible and w = sum_i alpha_i y_i x_i. The arrays stay the
  // caller's.
  DualDescent(const Rows& rows, const double* q, double* alpha, double* w, std::uint64_t seed,
              Pool& pool);

  // Visits the rows not set aside once, in random order. Throws Stopped; alpha and w stay
  // consistent.
  Epoch epoch(Stop* stop);
  // Decides from the predictions of all rows at w which rows are worth visiting.
  void refresh(const double* p);
  std::size_t active() const { return active_; }

 private:
  template <class View>
  Epoch visit(const View& rows, Stop* stop);

  Rows rows_;
  const double* q_;
  double* alpha_;
  double* w_;
  std::vector<double> norms_;
  std::vector<std::uint32_t> order_;  // order_[0 .. active_) are visited
  std::size_t active_ = 0;
  Random random_;
  double upper_, lower_;  // M+ and M-: rows with gradients beyond are set aside
};

}  // namespace maxmargin
