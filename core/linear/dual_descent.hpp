// Dual coordinate descent for the hinge loss (ALGORITHMS section 4; Hsieh et al. 2008).
//
//   G_i = y_i <w, x_i> - 1;   a_i <- clip(a_i - G_i / ||x_i||^2, 0, C_i);   w += change y_i x_i
//
// Rows whose a_i sits at a bound and whose gradient points well outside are set aside ("shrunk") and
// come back when `refresh` is given the predictions of all rows, which a gap evaluation has anyway.
//
// With one thread a run is a function of the seed alone. With more, every thread owns a fixed share of
// the rows and of the a_i and all work on one w without locks; an addition to w may then get lost, so
// the caller recomputes w = sum_i a_i y_i x_i before it certifies anything, and results vary in their
// last digits from run to run.
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
    std::size_t visited = 0;     // coordinates looked at
    std::size_t entries = 0;     // non-zeros of the rows looked at
  };

  // q_i = y_i C_i; alpha (n) must be feasible and w = sum_i alpha_i y_i x_i. The arrays stay the caller's.
  DualDescent(const Rows& rows, const double* q, double* alpha, double* w, std::uint64_t seed,
              int threads);

  // Visits the rows not set aside once, in random order. Throws Stopped; alpha and w stay consistent.
  Epoch epoch(Pool& pool);
  // Decides from the predictions of all rows at w which rows are worth visiting.
  void refresh(const double* p);
  std::size_t active() const;

 private:
  struct Share {  // the rows of one thread: order[0 .. active) are visited
    std::vector<std::uint32_t> order;
    std::size_t active = 0;
    Random random;
    double upper = 0, lower = 0;  // M+ and M-: rows with gradients beyond are set aside
  };

  template <bool kShared, class View>
  Epoch visit(const View& rows, Share& share, Stop* stop, bool is_caller);

  const Rows& rows_;
  const double* q_;
  double* alpha_;
  double* w_;
  std::vector<double> norms_;
  std::vector<Share> shares_;
};

}  // namespace maxmargin
