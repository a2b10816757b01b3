"""scikit-learn's callbacks (`set_callbacks`, from version 1.9 on), where it has them.

A fit is a task whose subtasks are the moments of its history, one a `Progress`. A callback that
returns True at the end of one ends the fit with the best model so far, as our own `callback` does.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from maxmargin.problem import Callback, Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        return method


class Observed(CallbackSupportMixin):
    """An estimator whose fits tell scikit-learn's callbacks how they go on."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in cls.__dict__:
            cls.fit = observed(cls.__dict__["fit"])

    def _callback_of_moments(self) -> Callback | None:
        """What is called at each moment of the fit that is under way, if anybody listens."""
        context = getattr(self, "_callback_fit_ctx", None)
        if context is None:
            return None
        one_at_a_time = threading.Lock()  # classes are trained on several threads

        def tell(progress: Progress) -> bool:
            with one_at_a_time:
                moment = context.subcontext(task_name="iteration")
                moment.call_on_fit_task_begin(estimator=self)
                return moment.call_on_fit_task_end(estimator=self)

        return tell


def observed(fit: Callable[..., Any]) -> Callable[..., Any]:
    """`fit` with callbacks set up before it and torn down after it, if there are any."""

    @functools.wraps(fit)
    def observed_fit(self: Any, X: Any, y: Any = None, *args: Any, **more: Any) -> Any:
        known = getattr(self, "_skl_callbacks", None)
        if not known or hasattr(self, "_callback_fit_ctx"):
            return fit(self, X, y, *args, **more)
        return with_callbacks(_fit_as_task)(self, fit, X, y, args, more)

    return observed_fit


def _fit_as_task(
    estimator: Any,
    fit: Callable[..., Any],
    X: Any,
    y: Any,
    args: tuple[Any, ...],
    more: dict[str, Any],
) -> Any:
    context = estimator._init_callback_context(max_subtasks=None)
    metadata = {name: value for name, value in more.items() if value is not None}
    about = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
    context.call_on_fit_task_begin(**about)
    fitted = fit(estimator, X, y, *args, **more)
    context.call_on_fit_task_end(**about, reconstruction_attributes=lambda: _fitted(estimator))
    return fitted


def _fitted(estimator: Any) -> dict[str, Any]:
    """The attributes that a fit has set."""
    return {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }


def both(first: Callback | None, second: Callback | None) -> Callback | None:
    """A callback that calls both; either may end the fit."""
    if first is None or second is None:
        return first or second
    return lambda progress: bool(first(progress)) | bool(second(progress))
