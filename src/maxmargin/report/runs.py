"""Histories of several problems told apart; one-vs-rest training keeps them in one list."""

from __future__ import annotations

from collections.abc import Sequence

from maxmargin.problem import Progress

SMALLEST = 1e-16  # gaps below rounding error are drawn as this


def runs(history: Sequence[Progress]) -> list[list[Progress]]:
    """The parts of a history within which time goes on."""
    parts: list[list[Progress]] = []
    for progress in history:
        if not parts or progress.seconds < parts[-1][-1].seconds:
            parts.append([])
        parts[-1].append(progress)
    return parts


def gap(progress: Progress) -> float:
    """The relative gap, fit for a logarithm."""
    return max(progress.relative_gap, SMALLEST)
