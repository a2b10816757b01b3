// The hinge loss of predictions, its exact line search, and the smoothed hinge of the Newton
// method.
//
//   q_i  signed cost y_i C s_i: one number holds label and weight     p_i  prediction <w, x_i>
//   hinge_i = max(0, |q_i| - q_i p_i)                                 l_i = -q_i where hinge_i > 0
#pragma once
#include <cstddef>
#include <vector>

#include "base/parallel.hpp"

namespace maxmargin {

// R = sum_i hinge_i; l (may be null) receives a subgradient.
double hinge(const double* q, const double* p, std::size_t n, double* l, Pool& pool);

// R at p + k dp.
double hinge_along(const double* q, const double* p, const double* dp, double k, std::size_t n,
                   Pool& pool);

// argmin_{k >= 0} of k^2 A0 / 2 + k B0 + sum_i max(0, |q_i| - q_i (p_i + k dp_i)), exactly, by
// weighted selection in O(n) expected time: kinks outside a bracket found by sampling are only
// summed.
double hinge_search(const double* q, const double* p, const double* dp, std::size_t n, double A0,
                    double B0, Pool& pool);

// What a part of the rows tells about the slope of its loss along a line, between low and high (may
// be infinite), so that a search over many parts needs a few numbers of each and no row:
//   loss at k = value + k slope + (sum of rise_i (k - k_i) over kinks k_i in (low, k])
struct KinkSummary {
  double slope = 0, value = 0;  // sums of B_i and C_i over the rows active just after low
  std::size_t count = 0;        // kinks in (low, high]
  bool complete = true;         // every kink is one of the edges
  std::vector<double> edges;    // increasing; the last may be infinite
  std::vector<double> rises;    // sum of the rises of kinks in (previous edge, this edge]
};
// At most `most` edges: the kinks themselves if they are so few, else about equally many between
// each two. On the whole line (low = 0, high infinite) they lie where a sample finds the root for
// slope k A0 + B0 + the part's own, which should be the part's share of all.
KinkSummary summarise_kinks(const double* q, const double* p, const double* dp, std::size_t n,
                            double A0, double B0, double low, double high, std::size_t most,
                            Pool& pool);

// The hinge smoothed by an augmented Lagrangian with multipliers C_i nu_i and penalty sigma C_i:
//   t_i = sigma (1 - y_i p_i) + nu_i,   a_i = C_i clip(t_i, 0, 1)
//   phi = sum_i C_i / sigma h(t_i),     h(t) = 0 | t^2/2 | t - 1/2   for t <= 0 | t < 1 | beyond
struct Smoothed {
  double value, slope, curvature;  // along a direction, at step k
};
Smoothed smoothed_along(const double* q, const double* nu, double sigma, const double* p,
                        const double* dp, double k, std::size_t n, Pool& pool);

struct Multipliers {
  double smoothed;    // phi
  double hinge;       // sum_i hinge_i at p
  double sum;         // sum_i a_i
  std::size_t inner;  // rows with 0 < t_i < 1
};
// ya_i = y_i a_i;  h_i = sigma C_i where 0 < t_i < 1, else 0
Multipliers multipliers(const double* q, const double* nu, double sigma, const double* p,
                        std::size_t n, double* ya, double* h, Pool& pool);

}  // namespace maxmargin
