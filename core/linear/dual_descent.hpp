// Dual coordinate descent for the hinge loss (Hsieh et al. 2008; ALGORITHMS section 4).
//
//   G_i = y_i <w, x_i> - 1;   a_i <- clip(a_i - G_i / ||x_i||^2, 0, C_i);   w += change y_i x_i
//
// Rows whose a_i sits at a bound and whose gradient points well outside are set aside ("shrunk")
// and come back when `refresh` is given the predictions of all rows, which a gap evaluation has
// anyway.
//
// With T > 1 threads, each owns a share of the rows and works on its own copy of w for a window of
// visits; then the changes are added up, all of them or as much as the dual gains most by (an exact
// line search), and the copies are renewed. That pays early on, while most rows are visited and
// hardly interfere; afterwards one thread visits them all. No locks, no lost updates: a run is a
// function of the seed and of T, and the dual value never falls.
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
  Epoch epoch(Pool& pool);
  // Decides from the predictions of all rows at w which rows are worth visiting.
  void refresh(const double* p);
  std::size_t active() const;

 private:
  struct Move {
    std::uint32_t row;
    double before;  // alpha before the first change in this window
  };
  struct Share {                       // the rows of one thread
    std::vector<std::uint32_t> order;  // order[0 .. active) are visited, order[next] being the next
    std::size_t active = 0, next = 0;
    Random random;
    double upper, lower;      // M+ and M-: rows with gradients beyond are set aside
    Epoch epoch;              // what this epoch has met so far
    std::vector<double> w;    // own copy, if there is more than one thread
    std::vector<Move> moves;  // and what has changed since it was renewed
    void begin_epoch();
    void end_epoch();
    bool done() const { return next >= active; }
  };

  template <bool kAlone, class View>
  void visit(const View& rows, Share& share, double* w, std::size_t entries, Stop* stop);
  template <class View>
  void epoch_in_windows(const View& rows, std::size_t window, Pool& pool);
  void fuse();
  double merge(Pool& pool);  // returns the share of the changes that was taken

  Rows rows_;
  const double* q_;
  double* alpha_;
  double* w_;
  std::vector<double> norms_;
  std::vector<Share> shares_;
  bool in_windows_ = false;       // whether the threads work side by side
  std::size_t last_entries_ = 0;  // non-zeros the last epoch touched
};

}  // namespace maxmargin
