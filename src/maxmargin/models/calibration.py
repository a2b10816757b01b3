"""What is kept of a calibration: maps from the scores of a machine to log-odds, one for each score.

z_j = log(p_j / (1 - p_j))     log-odds of class j against the rest
p_j                            two classes: p and 1 - p; more: each p_j over their sum
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.models.contents import Contents, Field

METHODS = ("sigmoid", "isotonic")


class Calibration(ABC):
    """One increasing map of scores to log-odds for each problem."""

    method: str

    @property
    @abstractmethod
    def problems(self) -> int:
        """How many maps there are."""

    @abstractmethod
    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Of scores (n,) or (n, problems), in the same shape."""


def probabilities_of(log_odds: np.ndarray) -> np.ndarray:
    """(n, 2) of log-odds (n,), and (n, k) of log-odds (n, k); every row sums to 1."""
    if log_odds.ndim == 1:
        log_odds = np.column_stack([-log_odds, log_odds])
    logs = -np.logaddexp(0.0, -log_odds)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Sigmoid(Calibration):
    """``z_j = slope_j f_j + offset_j`` (Platt)."""

    slope: np.ndarray
    offset: np.ndarray
    method = "sigmoid"

    def __post_init__(self) -> None:
        if self.slope.ndim != 1 or self.slope.shape != self.offset.shape:
            raise ValueError(
                f"a sigmoid calibration needs a slope and an offset for each score; got "
                f"{self.slope.shape} and {self.offset.shape}"
            )

    @property
    def problems(self) -> int:
        return len(self.slope)

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        shape = scores.shape
        return (scores.reshape(len(scores), -1) * self.slope + self.offset).reshape(shape)


@dataclass(frozen=True)
class Isotonic(Calibration):
    """``z_j(f_j)``: linear between knots, constant beyond the first and the last.

    Parameters
    ----------
    knots, values : arrays of shape (m,)
        Scores and log-odds of all problems, one problem after the other, both increasing.
    starts : array of shape (problems + 1,)
        Where the knots of each problem begin and end.
    """

    knots: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    method = "isotonic"

    def __post_init__(self) -> None:
        lengths, m = np.diff(self.starts), len(self.knots)
        whole = len(self.starts) >= 2 and self.starts[0] == 0 and self.starts[-1] == m
        if not whole or np.any(lengths < 1) or self.values.shape != (m,):
            raise ValueError("the knots of an isotonic calibration contradict their number")
        inner = np.delete(np.arange(m - 1), self.starts[1:-1] - 1)  # not from one to the next
        if np.any(np.diff(self.knots)[inner] < 0) or np.any(np.diff(self.values)[inner] < 0):
            raise ValueError("the knots or values of an isotonic calibration decrease")

    @property
    def problems(self) -> int:
        return len(self.starts) - 1

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        columns = scores.reshape(len(scores), -1)
        found = np.empty_like(columns)
        for j in range(self.problems):
            own = slice(self.starts[j], self.starts[j + 1])
            found[:, j] = np.interp(columns[:, j], self.knots[own], self.values[own])
        return found.reshape(scores.shape)


class StoredCalibration(Field):
    """A calibration or None: its method, and its arrays under the name of the field."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        if value is None:
            return
        into.plain[name] = value.method
        for part in _parts(value.method):
            into.tensors[f"{name}.{part}"] = np.asarray(getattr(value, part))

    def unpack(self, name: str, found: Contents) -> Calibration | None:
        method = found.plain.get(name)
        if method is None:
            return None
        if method not in METHODS:
            raise ValueError(f"its {name} is {method!r}, not one of {', '.join(METHODS)}")
        arrays = {
            part: found.take(f"{name}.{part}", 1, _parts(method)[part]) for part in _parts(method)
        }
        return Sigmoid(**arrays) if method == "sigmoid" else Isotonic(**arrays)


def _parts(method: str) -> dict[str, tuple[Any, ...]]:
    """The arrays of a method and their types."""
    if method == "sigmoid":
        return {"slope": (np.float64,), "offset": (np.float64,)}
    return {"knots": (np.float64,), "values": (np.float64,), "starts": (np.int64,)}
