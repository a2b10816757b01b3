// Sums over rows of a pointwise loss, given the predictions p: value, slope, dual, and what
// Newton's method asks for. The symbols are those of pointwise/residual.hpp.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "losses/pointwise/table.hpp"

namespace maxmargin {

// R(p) = sum_i c_i f(t_i - y_i p_i) over arrays of somebody else's.
struct PointwiseSum {
  PointwiseLoss loss;
  const double* q;  // y_i c_i; of a loss of residuals c_i >= 0
  const double* t;  // targets; null for a loss of margins
  std::size_t n;
};

// What the faces show of a loss; `parameter` is empty where it has none.
struct LossInfo {
  std::string name, parameter;
  bool on_margins, piecewise_linear;
  double visit_logarithms;
};
std::vector<LossInfo> loss_table();

// The loss of that name with its parameter x (ignored where it has none).
PointwiseLoss make_loss(const std::string& name, double x);

bool is_on_margins(const PointwiseLoss& loss);
bool is_piecewise_linear(const PointwiseLoss& loss);
// The least and the largest slope: the domain of f*.
Interval domain_of(const PointwiseLoss& loss);
// The mean of the least and the largest slope of a piecewise linear loss; else 0.
double middle_slope(const PointwiseLoss& loss);

template <class Loss>
MAXMARGIN_INLINE double residual(const Loss&, double q, const double* t, std::size_t i, double p) {
  if constexpr (Loss::kOnMargins)
    return Loss::target() - (q < 0 ? -p : p);
  else
    return t[i] - p;
}
template <class Loss>
MAXMARGIN_INLINE double target(const Loss&, const double* t, std::size_t i) {
  if constexpr (Loss::kOnMargins)
    return Loss::target();
  else
    return t[i];
}

// R(p); subgrad (may be null) receives dR/dp = -b.
double evaluate(const PointwiseSum& sum, const double* p, double* subgrad, Pool& pool);

// R(p + k dp)
double value_along(const PointwiseSum& sum, const double* p, const double* dp, double k,
                   Pool& pool);

// sum_i c_i (t_i u_i - f*(u_i)): the dual but for 1/2 ||w||^2, and the same with all terms taken as
// positive, which says how much rounding may have changed it.
struct DualSum {
  double value = 0, size = 0;
};
DualSum dual_sum(const PointwiseSum& sum, const double* u, Pool& pool);

// The loss rounded by multipliers nu and a penalty 1/s (s = 0: a smooth loss as it is),
//   phi(p) = sum_i c_i max over u of u r_i - f*(u) - s/2 (u - nu_i)^2:
// how it goes along a direction, at step k.
struct Along {
  double slope, curvature;
};
Along along(const PointwiseSum& sum, const double* nu, double s, const double* p, const double* dp,
            double k, Pool& pool);

// Its slopes at several steps: rows come into a cache once for all of them.
void slopes_along(const PointwiseSum& sum, const double* nu, double s, const double* p,
                  const double* dp, const double* ks, std::size_t count, double* slopes,
                  Pool& pool);

// A step k, of either sign, at which that slope is at most `small` from 0, by Newton's method from
// k = 0 inside a bracket; where steps outrun what float64 tells apart, the last k.
double root_along(const PointwiseSum& sum, const double* nu, double s, const double* p,
                  const double* dp, double small, Pool& pool);

struct Proximal {
  double value = 0;       // R(p), not rounded
  DualSum dual;           // at the maximising u
  std::size_t inner = 0;  // rows with curvature
};
// b_i = q_i u_i for the maximising u_i, the negative gradient of phi, feasible for the dual;
// h_i is the curvature of phi in p_i.
Proximal proximal(const PointwiseSum& sum, const double* nu, double s, const double* p, double* b,
                  double* h, Pool& pool);

// The dual point that the curvature h foretells at p + dp: b_i - h_i dp_i into `foretold`, where it
// is feasible, and its dual sum; else false.
bool foretell_dual(const PointwiseSum& sum, const double* b, const double* h, const double* dp,
                   double* foretold, DualSum* dual, Pool& pool);

}  // namespace maxmargin
