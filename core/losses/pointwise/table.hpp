// The losses there are: a new one is its header and its line here.
#pragma once
#include <variant>

#include "losses/pointwise/epsilon_insensitive.hpp"
#include "losses/pointwise/expectile.hpp"
#include "losses/pointwise/hinge.hpp"
#include "losses/pointwise/huber.hpp"
#include "losses/pointwise/logistic.hpp"
#include "losses/pointwise/pinball.hpp"
#include "losses/pointwise/squared.hpp"
#include "losses/pointwise/squared_epsilon_insensitive.hpp"
#include "losses/pointwise/squared_hinge.hpp"

// F(struct, "name", what its parameter x is called, how a loss is made from x, what x must be)
#define MAXMARGIN_EACH_LOSS(F)                                                                 \
  F(Hinge, "hinge", "", (Hinge{}), true)                                                       \
  F(SquaredHinge, "squared_hinge", "", (SquaredHinge{}), true)                                 \
  F(Logistic, "logistic", "", (Logistic{}), true)                                              \
  F(EpsilonInsensitive, "epsilon_insensitive", "epsilon", (EpsilonInsensitive{{}, x}), x >= 0) \
  F(SquaredEpsilonInsensitive, "squared_epsilon_insensitive", "epsilon",                       \
    (SquaredEpsilonInsensitive{{}, x}), x >= 0)                                                \
  F(Pinball, "quantile", "quantile", (Pinball{{}, x}), x > 0 && x < 1)                         \
  F(Expectile, "expectile", "quantile", (Expectile{{}, x}), x > 0 && x < 1)                    \
  F(Huber, "huber", "delta", (Huber{{}, x}), x > 0)                                            \
  F(Squared, "squared", "", (Squared{}), true)

namespace maxmargin {

template <class Nothing, class... Losses>
struct OneOf {
  using type = std::variant<Losses...>;
};
#define MAXMARGIN_AND_LOSS(Loss, ...) , Loss
using PointwiseLoss = OneOf<void MAXMARGIN_EACH_LOSS(MAXMARGIN_AND_LOSS)>::type;
#undef MAXMARGIN_AND_LOSS

}  // namespace maxmargin
