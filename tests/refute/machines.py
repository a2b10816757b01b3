"""What the fitted attributes of each estimator claim.

A claim is a certificate, the value of the model it is about, and the values of other machines of
the same problem: those of an independent solver where the problem is small, else those of another
solver of the package. Everything is evaluated from attributes that any user sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.refute.claim import Claim
from tests.refute.drawing import family_of
from tests.refute.kernel_claims import (
    cell_claims,
    kernel_claims,
    kernel_regression_claims,
    regression_cell_claims,
)
from tests.refute.linear_claims import (
    label_claims,
    linear_claims,
    measure_claims,
    rank_claims,
    regression_claims,
    stream_claims,
)
from tests.refute.maps import explicit
from tests.refute.problem import Problem
from tests.refute.span_claims import span_claims


def claims(problem: Problem, estimator: Any) -> Iterator[Claim]:
    """One for every binary problem, in the order of `certificates_`."""
    if "features" in problem.options:
        problem = replace(problem, X=explicit(problem.X, problem.options["features"]))
    return CLAIMS[family_of(problem.kind)](problem, estimator)


CLAIMS = {
    "regression": regression_claims,
    "regression-kernel": kernel_regression_claims,
    "linear": linear_claims,
    "stream": stream_claims,
    "rank": rank_claims,
    "ordinal": rank_claims,
    "measure": measure_claims,
    "kernel": kernel_claims,
    "sparse": span_claims,
    "sparse-kernel-regression": span_claims,
    "sparse-kernel-rank": span_claims,
    "sparse-kernel-ordinal": span_claims,
    "labels": label_claims,
    "cells": cell_claims,
    "cells-regression": regression_cell_claims,
}
