// Maps from scores to log-odds, fitted to targets between 0 and 1.
//
//   f_i  score     t_i  target     s_i  weight
//
// sigmoid    minimise over A, B   sum_i s_i [log(1 + exp(z_i)) - t_i z_i],     z_i = A f_i + B
// isotonic   minimise over increasing p   sum_i s_i (t_i - p(f_i))^2,     z = log(p / (1 - p))
//
// The sigmoid by the safeguarded Newton method of H.-T. Lin, C.-J. Lin, R. Weng, Machine Learning
// 68 (2007), on scores of mean 0 and deviation 1; isotonic by pooling adjacent violators.
#pragma once
#include <cstddef>
#include <vector>

namespace maxmargin {

struct SigmoidMap {
  double slope = 0, offset = 0;
  int evaluations = 0;  // of the objective
};
SigmoidMap fit_sigmoid(const double* f, const double* t, const double* s, std::size_t n);

// The ends of the steps: scores and log-odds, both increasing.
struct IsotonicMap {
  std::vector<double> knots, values;
};
IsotonicMap fit_isotonic(const double* f, const double* t, const double* s, std::size_t n);

}  // namespace maxmargin
