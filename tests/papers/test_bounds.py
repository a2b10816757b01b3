"""Every plane gains what the proofs of the iteration bounds say."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.papers.ocas import teo_bound, theorem_1_bound

from maxmargin.data.arrays import ArrayRows
from maxmargin.losses import Hinge
from maxmargin.problem import Settings
from maxmargin.solvers.linear import bundle

from .test_boxes import POOL, points


def history(X, y, C, method, variant, tol=1e-5):
    rows, loss = ArrayRows(X, pool=POOL), Hinge(y, C, POOL)
    settings = Settings(tol=tol, max_iter=2000)
    return bundle.solve(rows, loss, settings, method, variant=variant).history[1:]


def least_rise(gap, C_o, Q2):
    return min(gap / 2, gap**2 / (8 * C_o**2 * Q2))


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("method, mu", [("cpa", 0.1), ("ocas", 0.01), ("ocas", 0.1), ("ocas", 1.0)])
@pytest.mark.parametrize("as_the_paper", [True, False])
def test_every_plane_raises_the_bound_as_the_proof_says(C, method, mu, as_the_paper):
    X, y = points(150, 6)
    C_o, Q2 = C * len(y), float((X**2).sum(axis=1).max())
    standard = bundle.PAPER if as_the_paper else bundle.STANDARD
    variant = replace(standard, mu=mu, stopping="relative")
    moments = history(X, y, C, method, variant)
    left = 0.0 if as_the_paper else variant.qp_share  # by the reduced problem, of the gap
    for now, later in itertools.pairwise(moments[:-1]):  # the last are from a fresh pass
        gap = (1 - left) * (now.primal - now.dual)
        slack = left * (later.primal - later.dual) + 1e-9 * now.primal
        assert later.dual - now.dual >= least_rise(gap, C_o, Q2) - slack


@pytest.mark.parametrize("C", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("method", ["cpa", "ocas"])
def test_no_run_takes_more_planes_than_the_bounds(C, method):
    X, y = points(150, 6)
    C_o, Q2 = C * len(y), float((X**2).sum(axis=1).max())
    moments = history(X, y, C, method, replace(bundle.PAPER, stopping="relative"), 1e-3)
    eps = moments[-1].primal - moments[-1].dual
    assert len(moments) <= min(theorem_1_bound(C_o, Q2, eps), teo_bound(C_o, Q2, eps))


def test_theorem_1_is_lemma_2_in_other_units():
    for C, Q2, eps in ((0.1, 2.0, 0.5), (1.0, 0.3, 1e-2), (1e4, 14.0, 1e-3)):
        lemma_2 = max(2 / eps, 8 * C * Q2 / eps**2)
        assert theorem_1_bound(C, Q2, C * eps) == pytest.approx(lemma_2)


def test_the_bound_of_teo_et_al_is_what_its_recursion_needs():
    """gap <- gap - its least rise, counted to the end, from the largest gap there can be."""
    for C, Q2 in ((1e-3, 0.5), (0.2, 1.0), (5.0, 2.0)):
        gap, eps, steps = C, 1e-3 * C, 0
        while gap > eps:
            gap -= least_rise(gap, C, Q2)
            steps += 1
        assert steps <= np.ceil(teo_bound(C, Q2, eps)) <= 2 * steps + 10
