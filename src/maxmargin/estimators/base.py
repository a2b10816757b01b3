"""What all linear estimators share: parameters checked, rows validated, certificates shown."""

from __future__ import annotations

import numbers
import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from maxmargin.data.arrays import is_surely_finite
from maxmargin.data.cpus import granted_cpus
from maxmargin.problem import Callback, Certificate, Progress, Status

FLOATS = [np.float64, np.float32]  # used as they are; other numbers become the first


def validated(estimator, X, y="no_validation", **options):
    """scikit-learn's `validate_data` for rows we can use, with our own threads looking for NaN and
    infinity; what they find is reported in scikit-learn's words."""
    checked = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, **options
    )
    rows = checked[0] if isinstance(checked, tuple) else checked
    if not is_surely_finite(rows, threads_of(estimator.n_jobs)):
        assert_all_finite(rows, estimator_name=type(estimator).__name__, input_name="X")
    return checked


def check_labels(y) -> None:
    """scikit-learn's `check_classification_targets`, which looks at y several times, where y might
    not be labels: no array of numbers, not whole, or hardly any of them equal."""
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuf":
        classes = np.unique(y)
        whole = np.isfinite(classes).all() and (classes == np.rint(classes)).all()
        if whole and 2 * len(classes) <= len(y):
            return
    check_classification_targets(y)


def threads_of(n_jobs: int | None) -> int | None:
    """Threads for scikit-learn's `n_jobs`; None (all CPUs granted) stays None."""
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, or None; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, granted_cpus() + 1 + int(n_jobs))


def seed_of(random_state) -> int:
    """A seed. None means 0, so that fits repeat without touching a global generator."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state) % 2**63
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(
        f"random_state must be None, a whole number or a numpy generator; got {random_state!r}"
    )


def progress_callback(callback: Callback | None, verbose: int) -> Callback | None:
    """The user's callback, and a line on standard error a step if `verbose`."""
    if not verbose:
        return callback

    def show(progress: Progress) -> bool | None:
        print(
            f"iteration {progress.iteration:5d}  objective {progress.primal:.8g}  "
            f"relative gap {progress.relative_gap:.2e}  {progress.seconds:.2f} s"
            f"{getattr(progress, 'note', '')}",
            file=sys.stderr,
        )
        return callback(progress) if callback is not None else None

    return show


REASONS = {
    Status.MAX_ITER: "the limit on iterations was reached",
    Status.MAX_TIME: "max_time was reached",
    Status.INTERRUPTED: "it was interrupted",
    Status.CALLBACK: "the callback asked to stop",
    Status.ROWS_LOST: "part of the data could no longer be read",
    Status.STALLED: "rounding errors leave no room for progress",
}


def warn_if_missed(certificate: Certificate | None, tol: float, stacklevel: int = 4) -> None:
    """Says so, with the gap reached, if an answer is not within the tolerance."""
    if certificate is None or certificate.status is Status.OPTIMAL:
        return
    warnings.warn(
        f"training ended with a relative duality gap of {certificate.relative_gap:.2g} (tol is "
        f"{tol:g}) because {REASONS[certificate.status]}. The model is the best so far; "
        "certificate_ says how good it is.",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
