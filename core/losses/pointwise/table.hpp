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

// F(struct, "name", how a loss is made from its parameter x, what x must be)
#define MAXMARGIN_EACH_LOSS(F)                                                                    \
  F(Hinge, "hinge", (Hinge{}), true)                                                              \
  F(SquaredHinge, "squared_hinge", (SquaredHinge{}), true)                                        \
  F(Logistic, "logistic", (Logistic{}), true)                                                     \
  F(EpsilonInsensitive, "epsilon_insensitive", (EpsilonInsensitive{{}, x}), x >= 0)               \
  F(SquaredEpsilonInsensitive, "squared_epsilon_insensitive", (SquaredEpsilonInsensitive{{}, x}), \
    x >= 0)                                                                                       \
  F(Pinball, "quantile", (Pinball{{}, x}), x > 0 && x < 1)                                        \
  F(Expectile, "expectile", (Expectile{{}, x}), x > 0 && x < 1)                                   \
  F(Huber, "huber", (Huber{{}, x}), x > 0)                                                        \
  F(Squared, "squared", (Squared{}), true)

namespace maxmargin {

using PointwiseLoss = std::variant<Hinge, SquaredHinge, Logistic, EpsilonInsensitive,
                                   SquaredEpsilonInsensitive, Pinball, Expectile, Huber, Squared>;

}  // namespace maxmargin
