"""The verdict on one problem: do its certificates survive?"""

from __future__ import annotations

import math
import re
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor

import maxmargin
from maxmargin.distributed.errors import PartitionError
from maxmargin.problem import Status
from tests.refute.arithmetic import Value
from tests.refute.claim import Claim
from tests.refute.fitting import fit, given_matrix, is_indefinite
from tests.refute.machines import claims
from tests.refute.problem import Problem

# Besides rounding: the documentation counts values that agree to nine digits as equal.
AGREE = 1e-9
NOT_REFUSALS = (np.linalg.LinAlgError, UnicodeError)  # though they are ValueErrors
DIGITS = 1 + 1e-8  # what two digits that are rounded up may still take away


@dataclass
class Verdict:
    """`outcome` is optimal, stopped or refused; refuted if there are faults."""

    outcome: str = "optimal"
    faults: list[str] = field(default_factory=list)
    refusal: str = ""
    violation: float = 0.0  # the worst, relative to the objective

    def fault(self, name: str, text: str, violation: float = 0.0) -> None:
        self.faults.append(f"{name}: {text}")
        self.violation = max(self.violation, violation)

    @property
    def names(self) -> set[str]:
        return {fault.split(":")[0] for fault in self.faults}


def judge(problem: Problem) -> Verdict:
    """Fits the problem's estimator and examines what it claims."""
    verdict = Verdict()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator = fitted(problem, verdict)
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning):
            place = Path(warning.filename).name
            verdict.fault("warning", f"{warning.message} ({place}:{warning.lineno})")
    if estimator is None:
        return verdict
    if problem.kind.endswith("-precomputed") and is_indefinite(problem):
        if not any("positive" in str(warning.message) for warning in caught):
            verdict.fault("indefinite", "a matrix that is not positive definite was certified")
        return verdict
    examine(problem, estimator, verdict)
    if problem.options.get("again"):
        check_again(problem, estimator, verdict)
    return verdict


def fitted(problem: Problem, verdict: Verdict) -> Any:
    """The estimator, or None where it refused or failed."""
    try:
        return fit(problem)
    except (ValueError, PartitionError) as error:
        refused = error.__cause__ if isinstance(error, PartitionError) else error
        if not isinstance(refused, ValueError) or isinstance(refused, NOT_REFUSALS):
            verdict.fault("exception", f"{type(error).__name__}: {error}")
        elif not re.search(r"[0-9'\"]", str(error)):
            verdict.fault("refusal", f"names no value: {error}")
        verdict.outcome, verdict.refusal = "refused", str(error)
    except Exception as error:  # whatever it is, a user would see it
        verdict.fault("exception", f"{type(error).__name__}: {error}")
    return None


def examine(problem: Problem, estimator: Any, verdict: Verdict) -> None:
    """Everything a fitted estimator claims."""
    found = list(claims(problem, estimator))
    if len(found) != len(estimator.certificates_):
        verdict.fault(
            "count", f"{len(estimator.certificates_)} certificates, {len(found)} problems"
        )
    for claim in found:
        check_status(claim.certificate, estimator.tol, verdict)
        check_primal(claim, verdict)
        check_dual(claim, verdict)
    check_spokesman(problem, estimator, verdict)
    if hasattr(estimator, "exact_gap_"):
        check_bounds(estimator, found, verdict)
    if problem.kind != "kernel-callable" and problem.options.get("features") != "squares":
        is_given = problem.kind.endswith("-precomputed")
        rows = given_matrix(problem) if is_given else problem.rows
        check_file(estimator, rows, verdict)
    if estimator.certificate_.status != "optimal":
        verdict.outcome = "stopped"


def is_finite(certificate: Any) -> bool:
    numbers = (v for v in certificate.as_dict().values() if not isinstance(v, str))
    return all(math.isfinite(v) for v in numbers)


def check_status(certificate: Any, tol: float, verdict: Verdict) -> None:
    if not is_finite(certificate):
        verdict.fault("finite", f"the certificate is {certificate.as_dict()}", math.inf)
    gap = certificate.relative_gap
    if certificate.status == "optimal" and not gap <= tol:
        verdict.fault("optimal", f"said with a relative gap of {gap:.3g} at tol={tol:g}", gap)
    check_text(certificate, verdict)


def check_text(certificate: Any, verdict: Verdict) -> None:
    """What is printed says what the numbers say, to the digits that are printed."""
    text = str(certificate)
    early = "stopped early" in text or "not reached" in text
    if re.search(r"\b(nan|inf)\b", text) or early == (certificate.status == "optimal"):
        verdict.fault("text", f"{text!r} for {certificate.as_dict()}")
    objective = re.match(r"objective (\S+),", text)
    if not objective or not math.isclose(float(objective[1]), certificate.primal, rel_tol=1e-5):
        verdict.fault("text", f"{text!r} for an objective of {certificate.primal!r}")
    share = re.search(r"within (\S+) ?%", text)
    if share and not certificate.gap <= float(share[1]) / 100 * DIGITS * certificate.dual:
        verdict.fault(
            "text", f"{text!r} for a gap of {certificate.gap!r} above {certificate.dual!r}"
        )


def allowed(value: Value) -> float:
    return value.rounding + AGREE * abs(value.value)


def check_primal(claim: Claim, verdict: Verdict) -> None:
    """The objective is that of the model."""
    if not math.isfinite(claim.certificate.primal):
        return
    claimed, true = claim.certificate.primal, claim.value
    if not abs(claimed - true.value) <= allowed(true):
        relative = float(abs(claimed - true.value) / max(abs(true.value), 1e-300))
        verdict.fault("primal", f"claimed {claimed!r}, is {shown(true)}", relative)


def check_dual(claim: Claim, verdict: Verdict) -> None:
    """No machine, the returned one or another, lies below the lower bound."""
    bound = claim.certificate.dual
    if not math.isfinite(bound):
        return
    machines = [("the model", claim.value)]
    machines += [("another machine", value) for value in claim.others()]
    for whose, value in machines:
        if bound > value.value + allowed(value):
            relative = float((bound - value.value) / max(abs(value.value), 1e-300))
            verdict.fault("dual", f"claimed {bound!r}, but {whose} has {shown(value)}", relative)


def check_spokesman(problem: Problem, estimator: Any, verdict: Verdict) -> None:
    """`certificate_` speaks for all: as their sum (kernels), or as the worst of them."""
    one, all_of_them = estimator.certificate_, estimator.certificates_
    check_status(one, estimator.tol, verdict)
    if "kernel" in problem.kind or problem.kind.startswith("cells"):
        sums = [math.fsum(getattr(c, name) for c in all_of_them) for name in ("primal", "dual")]
        if not np.allclose([one.primal, one.dual], sums, rtol=1e-12, atol=0, equal_nan=True):
            verdict.fault("sum", f"{one.primal!r} and {one.dual!r} for sums of {sums}")
    elif one.relative_gap != max(c.relative_gap for c in all_of_them):
        verdict.fault("worst", f"{one.relative_gap!r} is not the largest gap")
    if one.status == "optimal" and any(c.status != "optimal" for c in all_of_them):
        verdict.fault("worst", "optimal, though not every problem is")


def check_bounds(estimator: Any, found: list[Claim], verdict: Verdict) -> None:
    """A machine on a basis is at most `exact_gap_` from the best one, and `theorem2_bound_` too."""
    if getattr(estimator, "bounds_are_estimates_", False):
        return
    bounds = {"exact_gap": estimator.exact_gap_, "theorem2": estimator.theorem2_bound_}
    if not all(math.isfinite(v) and v >= 0 for v in (*bounds.values(), estimator.delta_)):
        if estimator.certificate_.status == "optimal":
            verdict.fault("bounds", f"{bounds}, delta {estimator.delta_}")
        return
    exact = [claim.exact() for claim in found if claim.exact is not None]
    if not exact or not all(exact):
        return
    best = [min(values, key=lambda v: v.value) for values in exact]
    distance = sum(c.value.value - b.value for c, b in zip(found, best))
    slack = sum(allowed(c.value) + allowed(b) for c, b in zip(found, best))
    for name, bound in bounds.items():
        if not distance <= bound + slack:
            objective = sum(c.value.value for c in found)
            verdict.fault(
                "bounds",
                f"{name} claimed {bound!r}, but the exact machine is {float(distance):.17g} below",
                float((distance - bound) / objective),
            )


def check_file(estimator: Any, rows: Any, verdict: Verdict) -> None:
    """A saved model makes the same claims."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            estimator.save(path)
            loaded = maxmargin.load(path)
        except Exception as error:
            verdict.fault("file", f"{type(error).__name__}: {error}")
            return
    pairs = zip(estimator.certificates_, loaded.certificates_)
    same = len(estimator.certificates_) == len(loaded.certificates_)
    if not (same and all(a.as_dict() == b.as_dict() for a, b in pairs)):
        verdict.fault("file", "the certificates of the saved model are others")
    if not all(map(np.array_equal, weights_of_model(estimator), weights_of_model(loaded))):
        verdict.fault("file", "the weights of the saved model are others")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows of a file have names
        before, after = (told(e, rows) for e in (loaded.from_model(estimator.to_model()), loaded))
    if not all(map(np.array_equal, before, after)):
        verdict.fault("file", "the saved model predicts otherwise")


def told(estimator: Any, rows: Any) -> list[np.ndarray]:
    """All that a machine says of rows."""
    scores = () if is_regressor(estimator) else (estimator.decision_function(rows),)
    return [estimator.predict(rows), *scores]


def check_again(problem: Problem, estimator: Any, verdict: Verdict) -> None:
    """No answer depends on the number of threads, nor on the day."""
    options = problem.options | {"n_jobs": 3 - problem.options.get("n_jobs", 1)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = fit(replace(problem, options=options))
    ends = {c.status for c in (*estimator.certificates_, *other.certificates_)}
    # Problems side by side: whichever called back when the callback had enough.
    by_chance = len(estimator.certificates_) > 1 and "cells" not in problem.options
    if Status.MAX_TIME in ends or (by_chance and Status.CALLBACK in ends):
        return
    if not all(map(np.array_equal, weights_of_model(estimator), weights_of_model(other))):
        verdict.fault("again", "another number of threads gave other weights")


def weights_of_model(estimator: Any) -> list[np.ndarray]:
    """All its weights; of a machine in cells those of each."""
    if hasattr(estimator, "n_cells_"):
        return [cell.coefficients for cell in estimator.to_model().cells]
    return [estimator.dual_coef_ if hasattr(estimator, "dual_coef_") else estimator.coef_]


def shown(value: Value) -> str:
    return f"{float(value.value):.17g} (rounding {float(value.rounding):.1g})"
