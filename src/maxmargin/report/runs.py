"""Histories of several problems told apart; one-vs-rest training keeps them in one list."""

from __future__ import annotations

from collections.abc import Sequence

from maxmargin.problem import Progress

SMALLEST = 1e-16  # gaps below rounding error are drawn as this


def runs(history: Sequence[Progress]) -> list[list[Progress]]:
    """The parts of a history that are of one problem, and within which time goes on."""
    parts: list[list[Progress]] = []
    running: dict[int, list[Progress]] = {}  # the last part of each problem
    for progress in history:
        part = running.get(progress.problem)
        if part is None or progress.seconds < part[-1].seconds:
            part = running[progress.problem] = []
            parts.append(part)
        part.append(progress)
    return parts


def gap(progress: Progress) -> float:
    """The relative gap, fit for a logarithm."""
    return max(progress.relative_gap, SMALLEST)
