// What a visit of dual descent needs to know of a row, side by side: rows are visited in random
// order, and every array apart would be another wait for memory.
#pragma once
#include <type_traits>

#include "losses/pointwise/residual.hpp"

namespace maxmargin {

struct MarginState {
  double u = 0, q = 0;
  double s = -1;      // c_i ||x_i||^2, below 0 before the first visit
  double anchor = 0;  // u_i where the direction of the next extrapolation begins
};
struct ResidualState : MarginState {
  double t = 0;
};
// Of a loss whose f* takes logarithms: known from the step that led to u.
struct KeptState : MarginState {
  DualPoint at = {};
};

template <class Loss>
constexpr bool kKeepsPoint = Loss::kOnMargins && Loss::kVisitLogarithms > 0;

template <class Loss>
using StateOf =
    std::conditional_t<kKeepsPoint<Loss>, KeptState,
                       std::conditional_t<Loss::kOnMargins, MarginState, ResidualState>>;

template <class Loss>
struct DualState : StateOf<Loss> {
  MAXMARGIN_INLINE double target() const {
    if constexpr (Loss::kOnMargins)
      return Loss::target();
    else
      return this->t;
  }
  MAXMARGIN_INLINE double residual(double p) const {
    return target() - (Loss::kOnMargins && this->q < 0 ? -p : p);
  }
  // f* at u.
  MAXMARGIN_INLINE DualPoint point(const Loss& loss) const {
    if constexpr (kKeepsPoint<Loss>)
      return this->at;
    else
      return dual_point(loss, this->u);
  }
  MAXMARGIN_INLINE void move(double to, [[maybe_unused]] const DualPoint& at_it) {
    this->u = to;
    if constexpr (kKeepsPoint<Loss>) this->at = at_it;
  }
};

}  // namespace maxmargin
