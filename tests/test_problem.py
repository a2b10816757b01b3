"""The one sentence in which a certificate speaks to people."""

import math
import re

import pytest

from maxmargin.problem import REASONS, Certificate, Status


def sentence(primal, dual, status=Status.OPTIMAL, n_iter=12, tol=1e-3):
    return str(Certificate(primal, dual, status, n_iter, 0.5, tol=tol))


def test_an_optimal_answer_says_how_close_it_is():
    assert sentence(216.752, 216.663) == (
        "objective 216.752, within 0.042 % of the best possible (12 iterations, 0.5 s)"
    )


def test_a_missed_tolerance_says_which_and_why():
    assert sentence(16770.8, 16730.6, Status.MAX_TIME) == (
        "objective 16770.8, within 0.25 % of the best possible "
        "(tolerance 0.1 % not reached: time limit; 12 iterations, 0.5 s)"
    )


def test_a_tolerance_that_is_not_known_is_not_named():
    assert "(stopped early: interrupted; 1 iteration, 0.5 s)" in sentence(
        2.0, 1.9, Status.INTERRUPTED, n_iter=1, tol=None
    )


def test_another_rule_that_holds_misses_no_tolerance():
    said = sentence(16770.8, 16730.6, Status.RULE_MET)
    assert "(stopped early: the stopping rule that was asked for holds; 12 iterations" in said


@pytest.mark.parametrize("dual", [0.0, 1e-300, -1.0, math.nan, 4.0])
def test_nothing_learned_claims_nothing(dual):
    said = sentence(3.0, dual, Status.INTERRUPTED)
    assert "objective 3, nothing known yet about how close to the best possible that is" in said
    assert "within" not in said


def test_the_share_is_of_the_best_possible_objective():
    """With P = 15 and D = 10 the answer may be 50 % above the best, though the gap is P / 3."""
    assert "within 50 % of the best possible" in sentence(15.0, 10.0, Status.MAX_ITER)
    assert "at most 8 times the best possible" in sentence(8.0, 1.0, Status.MAX_ITER)
    assert "at most 980 times the best possible" in sentence(971.0, 1.0, Status.MAX_ITER)


@pytest.mark.parametrize("excess", [1.001e-9, 1.49e-5, 0.00101, 0.0241, 0.0995, 0.301, 0.999, 7.9])
def test_what_is_said_is_never_less_than_what_is_known(excess):
    """ "within 0.24 %" was said of 0.244 %, and "1.5e-05 %" to people who read no exponents."""
    said = sentence(1.0 + excess, 1.0, Status.MAX_ITER)
    number = float(re.search(r"(?:within|most) (\S+) ", said)[1])
    most = number / 100 if "within" in said else number - 1
    assert excess <= most * (1 + 1e-9) and most <= 1.13 * excess + 1e-9
    assert "e-" not in said.split("(")[0]


@pytest.mark.parametrize("primal", [0.0, 5.0])
def test_a_gap_of_zero_claims_no_more_digits_than_float64_has(primal):
    assert "within 0.000000001 % of the best possible" in sentence(primal, primal)


def test_every_status_but_optimal_has_words():
    assert set(REASONS) == set(Status) - {Status.OPTIMAL}
