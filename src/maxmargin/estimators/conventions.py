"""scikit-learn's conventions for parameters, labels, progress and warnings, in our terms."""

from __future__ import annotations

import numbers
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from maxmargin.data.cpus import granted_cpus
from maxmargin.parameters import ParameterError, is_whole
from maxmargin.problem import Callback, Certificate, Progress, Status, callers_line


def check_labels(y: Any) -> None:
    """scikit-learn's `check_classification_targets`, which looks at y several times, where y might
    not be labels: no array of numbers, not whole, or hardly any of them equal."""
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuf":
        classes = np.unique(y)
        whole = np.isfinite(classes).all() and (classes == np.rint(classes)).all()
        if whole and 2 * len(classes) <= len(y):
            return
    check_classification_targets(y)


def is_indicator(y: Any) -> bool:
    """Whether y says of several labels which rows have them: a matrix of zeros and ones."""
    of_rows = isinstance(y, list) and bool(y) and isinstance(y[0], (list, tuple, np.ndarray))
    if not of_rows and getattr(y, "ndim", 1) != 2:
        return False
    try:
        return type_of_target(y) == "multilabel-indicator"
    except ValueError:  # lists of unequal length, which validation refuses in its own words
        return False


def threads_of(n_jobs: int | None) -> int | None:
    """Threads for scikit-learn's `n_jobs`; None (all available CPUs) stays None."""
    if n_jobs is None:
        return None
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ParameterError("n_jobs", "a whole number other than 0", n_jobs, "all available CPUs")
    return int(n_jobs) if n_jobs > 0 else max(1, granted_cpus() + 1 + int(n_jobs))


def seed_of(random_state: Any) -> int:
    """A seed. None means 0, so that fits repeat without touching a global generator."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        return int(random_state) % 2**63
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ParameterError("random_state", "None, a whole number or a numpy generator", random_state)


def progress_callback(callback: Callback | None, verbose: int) -> Callback | None:
    """The user's callback, and one line per iteration on standard error if `verbose`."""
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


def warn_if_missed(certificate: Certificate | None) -> None:
    """Says so, with the certificate, if an answer is not within the tolerance."""
    if certificate is None or certificate.status in (Status.OPTIMAL, Status.RULE_MET):
        return
    warnings.warn(
        f"the best model so far has {certificate}. Allow more iterations or time, or a larger tol.",
        ConvergenceWarning,
        stacklevel=callers_line(),
    )
