// The hinge loss of predictions, its exact line search, and the smoothed hinge of the Newton
// method.
//
//   q_i  signed cost y_i C s_i: one number holds label and weight     p_i  prediction <w, x_i>
//   hinge_i = max(0, |q_i| - q_i p_i)                                 l_i = -q_i where hinge_i > 0
#pragma once
#include <cstddef>
#include <utility>
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

// Where the slope of a line rises, and by how much: G' rises by |B_i| when k passes -C_i / B_i.
struct Kink {
  double k, rise;
};

// The kinks in (low, high] (high may be infinite) of a part of the rows, and with them its loss:
//   loss at k = value + k slope + (sum of rise_j (k - k_j) over kinks in (low, k])
struct KinkList {
  double low = 0, high = 0;
  double slope = 0, value = 0;  // sums of B_i and C_i over the rows active just after low
  std::vector<Kink> kinks;

  KinkList within(double from, double to) const;  // low <= from <= to <= high
};
KinkList list_kinks(const double* q, const double* p, const double* dp, std::size_t n, double low,
                    double high, Pool& pool);

// A bracket that holds the root of k A0 + B0 + slope with high probability, by a sample.
std::pair<double, double> sampled_bracket(const double* q, const double* p, const double* dp,
                                          std::size_t n, double A0, double B0);

// How the slope rises, in a few numbers. At most `most` edges: the kinks themselves if they are so
// few (then it is complete), else about equally many between each two.
struct KinkSummary {
  std::vector<double> edges;  // increasing
  std::vector<double> rises;  // sum of the rises of kinks in (previous edge, this edge]
  bool complete = true;       // every kink is one of the edges
};
KinkSummary summarise(const std::vector<Kink>& kinks, std::size_t most);

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
