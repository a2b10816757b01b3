"""Sizes from which solvers go other ways, lowered so that small problems go these ways too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from maxmargin.solvers.kernel import chunking, regression, subset_gram, two_variable
from maxmargin.solvers.linear import newton, newton_system, progress
from maxmargin.solvers.subspace import bounds
from maxmargin.training import choice

LOWERED = [
    (chunking, {"LEAST_POINTS": 6, "FIRST": 4, "ADDED": 2, "FEW": 0.9, "MOST": 0.9}),
    (subset_gram, {"LONG": 1}),
    (two_variable, {"NEWTON_ROWS": 6, "FIRST_SLICE": 8}),
    (regression, {"NEWTON_ROWS": 6}),
    (newton, {"SAMPLE_ROWS": 1, "HESSIAN_ROWS": 1, "SAMPLE_GROWTH": 2, "DIRECT_WIDTH": 6}),
    (
        newton_system,
        {"HESSIAN_ROWS": 1, "HESSIAN_SHARE": 0.0, "DIRECT_WIDTH": 6, "SMALL_SYSTEM": 0},
    ),
    (progress, {"STEPS": 0.1, "SMOOTH_STEPS": 0.1, "LEAST_VOTES": 1}),
    (bounds, {"LEAST_WORK": 0}),
    (choice, {"SMALL_COST": 0.0, "SMALL_STEP": 0.0}),
]


@contextmanager
def as_large(lowered: bool) -> Iterator[None]:
    """Samples, subsets, hand-overs and working sets at sizes that are drawn."""
    with ExitStack() as stack:
        for module, sizes in LOWERED if lowered else []:
            stack.enter_context(patch.multiple(module, **sizes))
        yield
