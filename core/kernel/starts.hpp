// Warm starts of the no-offset paper that recycle the residuals (Procedures 6 and 7): f is a sum
// over bounded and over other points; one of the two parts changes by a factor only, so the cheaper
// one is computed.
#pragma once
#include <vector>

#include "base/parallel.hpp"
#include "kernel/rows.hpp"

namespace maxmargin {

// beta and r are of the costs c; both are changed to a start for new_c = ratio * c.
struct StartArrays {
  double* beta;
  double* r;
  const double* y;
  const double* c;
  const double* new_c;
  double ratio;
};

// W4, for growing C: bounded ones go to new_c, the rest is kept.
void start_expand(KernelRows& rows, const std::vector<Range>& ranges, const StartArrays& arrays,
                  Pool& pool);
// W6, for falling C: cut to new_c, the rest is kept.
void start_cut(KernelRows& rows, const std::vector<Range>& ranges, const StartArrays& arrays,
               Pool& pool);

}  // namespace maxmargin
