"""What a verbose fit tells: lines on standard error, or in a notebook a bar that moves."""

from __future__ import annotations

import html
import importlib
import math
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from maxmargin.problem import Progress

BETWEEN_UPDATES = 0.1  # seconds: a bar that moves faster is only more to send

Moment = TypeVar("Moment")


def telling(
    callback: Callable[[Moment], bool | None] | None,
    line: Callable[[Moment], str],
    share: Callable[[Moment], float],
) -> Callable[[Moment], bool | None]:
    """A callback that tells of each moment a line and which share is done, then asks another."""
    tell = Bar().tell if in_notebook() else to_stderr

    def show(moment: Moment) -> bool | None:
        tell(line(moment), share(moment))
        return callback(moment) if callback is not None else None

    return show


def to_stderr(line: str, share: float) -> None:
    """One line after another."""
    print(line, file=sys.stderr)


def in_notebook() -> bool:
    """Whether what is displayed can be changed afterwards."""
    shell: Any = sys.modules.get("IPython")  # whoever has a notebook has imported it
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


class Bar:
    """A line in a notebook that rewrites itself, behind a bar."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = -math.inf

    def tell(self, line: str, share: float) -> None:
        now = time.monotonic()
        if share < 1 and now - self._shown < BETWEEN_UPDATES:
            return
        self._shown = now
        bar = f'<progress value="{share:.3f}" max="1" aria-label="share done"></progress>'
        told = {"text/plain": line, "text/html": f"{bar} <code>{html.escape(line)}</code>"}
        if self._handle is None:
            displays: Any = importlib.import_module("IPython.display")
            self._handle = displays.display(told, raw=True, display_id=True)
        else:
            self._handle.update(told, raw=True)


class ShareOfGap:
    """How far fits are, by the logarithm of each problem's gap on its way to the tolerance."""

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self._shares: dict[int, float] = {}

    def __call__(self, progress: Progress) -> float:
        self._shares[progress.problem] = share_of_gap(progress.relative_gap, self.tol)
        return sum(self._shares.values()) / max(progress.problems, len(self._shares))


def share_of_gap(gap: float, tol: float) -> float:
    """How far one problem is."""
    if gap <= tol:
        return 1.0
    if not 0 < tol < 1 or not gap < 1:
        return 0.0
    return math.log(gap) / math.log(tol)
