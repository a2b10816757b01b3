#include "common.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The loops that run once an example. Private: use the maxmargin package.";
  maxmargin::bind_base(m);
  maxmargin::bind_rows(m);
  maxmargin::bind_linear(m);
  maxmargin::bind_cached_loops(m);
  maxmargin::bind_losses(m);
  maxmargin::bind_pointwise(m);
  maxmargin::bind_kernel(m);
}
