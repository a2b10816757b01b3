"""Losses that are sums over rows, each a convex function of one residual.

    R(p) = sum_i C_i f(r_i)        r_i = t_i - y_i p_i
    D    = sum_i C_i (t_i u_i - f*(u_i)) - 1/2 ||sum_i b_i x_i||^2,      b_i = y_i C_i u_i

    y_i    label -1 or 1 of a loss of margins, whose target t_i is a constant; else 1
    u_i    dual variable in units of C_i ("share"): a slope of f at r_i
    q_i    y_i C_i: label and cost in one number

The table of losses is in the core (core/losses/pointwise/table.hpp).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.losses.base import Loss
from maxmargin.losses.line_search import bracketed_newton
from maxmargin.losses.table import LOSSES, losses_for
from maxmargin.parameters import ParameterError, is_number, not_negative, one_of, positive

SLOPE_LEFT = 1e-3  # of the slope at 0 that a line search of a smooth loss may leave


@dataclass(frozen=True)
class LossSpec:
    """A loss by its name and parameter, checked: what is minimised, before there are rows."""

    name: str = "hinge"
    x: float = 0.0

    @classmethod
    def of(cls, name: Any, task: str, **parameters: Any) -> LossSpec:
        """The loss `name` of this task, with the one of the parameters that it has."""
        one_of("loss", name, losses_for(task))
        parameter = LOSSES[name].parameter
        if parameter is None:
            return cls(name)
        return cls(name, _CHECKS[parameter](parameter, parameters[parameter]))

    @property
    def is_piecewise_linear(self) -> bool:
        return LOSSES[self.name].is_piecewise_linear

    @property
    def margin_loss_at_zero(self) -> float:
        """What a row of cost 1 costs where its prediction is 0."""
        return self.on_margins(np.ones(1), 1.0, _core.Pool(1)).at_zero

    def on_margins(self, y: np.ndarray, cost: Any, pool: _core.Pool) -> Pointwise:
        """The loss of rows with labels -1 and 1, and what a unit of loss costs in each."""
        q = y * np.asarray(cost, dtype=np.float64)
        return Pointwise(self, q, None, pool)

    def on_targets(self, t: np.ndarray, cost: Any, pool: _core.Pool) -> Pointwise:
        """The loss of rows with real-valued targets."""
        q = np.broadcast_to(np.asarray(cost, dtype=np.float64), np.shape(t))
        return Pointwise(self, q, t, pool)


def inside_unit(name: str, value: Any) -> float:
    """A number between 0 and 1, neither of them."""
    if not (is_number(value) and 0 < value < 1):
        raise ParameterError(name, "a number between 0 and 1 (exclusive)", value)
    return float(value)


_CHECKS = {"epsilon": not_negative, "delta": positive, "quantile": inside_unit}


class Pointwise(Loss):
    """A pointwise loss of predictions.

    Parameters
    ----------
    spec : LossSpec
    q : array
        ``y_i C_i``. Rows of cost 0 do not count.
    t : array or None
        Targets; None for a loss of margins.
    pool : _core.Pool
        The threads that do the sums.
    """

    def __init__(
        self, spec: LossSpec, q: np.ndarray, t: np.ndarray | None, pool: _core.Pool
    ) -> None:
        self.spec, self.pool = spec, pool
        self.q = np.ascontiguousarray(q, dtype=np.float64)
        self.t = None if t is None else np.ascontiguousarray(t, dtype=np.float64)
        self.core = _core.Pointwise(spec.name, spec.x, self.q, self.t)
        self.n: int = self.q.shape[0]
        self.is_piecewise_linear: bool = self.core.piecewise_linear
        self.at_zero: float = self.core.value(np.zeros(self.n), _core.Pool(1))

    def subsample(self, step: int) -> Pointwise:
        """The loss of every `step`-th row, standing for all of them."""
        t = None if self.t is None else self.t[::step]
        return Pointwise(self.spec, self.q[::step] * step, t, self.pool)

    # ------------------------------------------------------------ what every loss of ours can do

    def value(self, p: np.ndarray) -> float:
        return self.core.value(p, self.pool)

    def evaluate(self, p: np.ndarray, out: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        subgrad = np.empty(self.n) if out is None else out
        return self.core.evaluate(p, subgrad, self.pool), subgrad

    def search(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> tuple[float, float]:
        """Exactly by selection among the kinks of a piecewise linear loss; else until the slope is
        a small share of what it was."""
        if self.is_piecewise_linear:
            k = self.core.search_kinks(p, dp, A0, B0, self.pool)
        else:
            k = self._search_smooth(p, dp, A0, B0)
        return k, self.core.value_along(p, dp, k, self.pool)

    def _search_smooth(self, p: np.ndarray, dp: np.ndarray, A0: float, B0: float) -> float:
        unused = p  # multipliers do not count where the loss is not rounded

        def slope_and_curvature(k: float) -> tuple[float, float]:
            slope, curvature = self.core.along(unused, 0.0, p, dp, k, self.pool)
            return B0 + k * A0 + slope, A0 + curvature

        slope, _ = slope_and_curvature(0.0)
        return bracketed_newton(slope_and_curvature, SLOPE_LEFT * -slope) if slope < 0 else 0.0

    # ------------------------------------------------------------ the dual

    def dual_sum(self, u: np.ndarray) -> tuple[float, float]:
        """``sum_i C_i (t_i u_i - f*(u_i))``, and the same with all terms taken as positive."""
        return self.core.dual_sum(u, self.pool)

    def clipped(self, u: np.ndarray) -> np.ndarray:
        """Dual variables of another precision or problem, within the domain of f*."""
        return np.clip(np.asarray(u, dtype=np.float64), *self.core.domain)

    def slopes_at_zero(self) -> np.ndarray:
        """``u_i = f'(r_i)`` where every prediction is 0; 0 for rows of cost 0."""
        return self.shares(-self.evaluate(np.zeros(self.n))[1])

    def shares(self, b: np.ndarray) -> np.ndarray:
        """``u_i = b_i / q_i``; 0 for rows of cost 0."""
        return np.divide(b, self.q, out=np.zeros(self.n), where=self.q != 0)


class Hinge(Pointwise):
    """The hinge loss ``R(p) = sum_i C_i max(0, 1 - y_i p_i)`` of labels -1 and 1."""

    def __init__(self, y: np.ndarray, cost: Any, pool: _core.Pool) -> None:
        super().__init__(LossSpec("hinge"), y * np.asarray(cost, dtype=np.float64), None, pool)
