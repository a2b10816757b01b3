// The exact line search of piecewise linear losses: where does the slope of
//   G(k) = k^2 A0 / 2 + k B0 + sum_i c_i f(r_i + k B_i / c_i),        B_i = -q_i dp_i
// change its sign? G' rises where a residual passes a kink of f.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "losses/pointwise.hpp"

namespace maxmargin {

// argmin_{k >= 0} of G, exactly, by weighted selection in O(n) expected time: kinks outside a
// bracket found by sampling are only summed.
double search_kinks(const PointwiseSum& sum, const double* p, const double* dp, double A0,
                    double B0, Pool& pool);

// Where G' rises, and by how much.
struct Kink {
  double k, rise;
};

// The kinks in (low, high] (high may be infinite) of a part of the rows, and with them its loss:
//   loss at k = value + k slope + (sum of rise_j (k - k_j) over kinks in (low, k])
struct KinkList {
  double low = 0, high = 0;
  double slope = 0, value = 0;  // the line that the loss is just after low
  std::vector<Kink> kinks;

  KinkList within(double from, double to) const;  // low <= from <= to <= high
};
KinkList list_kinks(const PointwiseSum& sum, const double* p, const double* dp, double low,
                    double high, Pool& pool);

// A bracket that holds the root of k A0 + B0 + slope with high probability, by a sample.
std::pair<double, double> sampled_bracket(const PointwiseSum& sum, const double* p,
                                          const double* dp, double A0, double B0);

// How the slope rises, in a few numbers. At most `most` edges: the kinks themselves if they are so
// few (then it is complete), else about equally many between each two.
struct KinkSummary {
  std::vector<double> edges;  // increasing
  std::vector<double> rises;  // sum of the rises of kinks in (previous edge, this edge]
  bool complete = true;       // every kink is one of the edges
};
KinkSummary summarise(const std::vector<Kink>& kinks, std::size_t most);

}  // namespace maxmargin
