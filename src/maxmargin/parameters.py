"""What people may ask of a fit: every value checked once, and refused in one set of words."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maxmargin.problem import Callback, Settings

if TYPE_CHECKING:
    from maxmargin._core import Stop


class ParameterError(ValueError):
    """A parameter has a value that it cannot have.

    Faces that spell the parameter another way (``--tol``) can say the same with `worded`.
    """

    def __init__(self, name: str, expected: str, value: object, none: str | None = None) -> None:
        self.name, self.expected, self.value = name, expected, value
        default = "" if none is None else f", or None for {none}"
        super().__init__(f"{name} must be {expected}{default}; got {value!r}")

    def __reduce__(self) -> Any:  # errors cross processes with what they were made of
        return _again, (self.name, self.expected, self.value, str(self))

    def worded(self, name: str) -> str:
        """The sentence for a face that calls the parameter `name` and knows no None."""
        return f"{name} must be {self.expected}; got {self.value}"


def _again(name: str, expected: str, value: object, text: str) -> ParameterError:
    error = ParameterError(name, expected, value)
    error.args = (text,)
    return error


def is_number(value: object) -> bool:
    """A real number, and not one of True and False."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """A whole number by its type: 2, but not 2.0."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    if not (is_number(value) and value > 0 and math.isfinite(value)):
        raise ParameterError(name, "a positive number", value)
    return float(value)


def not_negative(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    if not (is_number(value) and value >= 0 and math.isfinite(value)):
        raise ParameterError(name, "a number >= 0", value)
    return float(value)


def positive_whole(name: str, value: Any, none: str | None = None) -> int:
    """A whole number of at least 1."""
    if not (is_whole(value) and value > 0):
        raise ParameterError(name, "a positive whole number", value, none)
    return int(value)


def one_of(name: str, value: Any, choices: Collection[str]) -> str:
    """One of the words."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(name, f"one of {', '.join(choices)}", value)
    return value


@dataclass(frozen=True)
class Options:
    """When a fit ends and what it may use, whatever is fitted.

    Parameters
    ----------
    tol : float
        Relative duality gap to reach.
    max_iter, max_time : number, optional
        Limits on the iterations of a problem, and on the seconds of the whole fit.
    threads : int, optional
        None uses all available CPUs.
    seed : int
    callback : callable, optional
        Called with a `Progress` every iteration; the fit ends when it returns True.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_time: float | None = None
    threads: int | None = None
    seed: int = 0
    callback: Callback | None = None

    def __post_init__(self) -> None:
        positive("tol", self.tol)
        if self.max_iter is not None:
            positive_whole("max_iter", self.max_iter, none="no limit")
        if self.max_time is not None and not (is_number(self.max_time) and self.max_time > 0):
            raise ParameterError(
                "max_time", "a positive number of seconds", self.max_time, none="no limit"
            )
        if self.threads is not None:
            positive_whole("threads", self.threads, none="all available CPUs")

    def settings(self, stop: Stop | None) -> Settings:
        """What one run of a solver is told."""
        return Settings(self.tol, self.max_iter, self.seed, self.callback, stop)
