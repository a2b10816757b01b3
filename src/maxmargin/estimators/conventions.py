"""scikit-learn's conventions for parameters, labels, progress and warnings, in our terms."""

from __future__ import annotations

import functools
import numbers
import warnings
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from maxmargin.data.cpus import granted_cpus
from maxmargin.parameters import ParameterError, is_whole
from maxmargin.problem import Callback, Certificate, Progress, Status, callers_line
from maxmargin.training.targets import classes_in
from maxmargin.training.verbose import ShareOfGap, telling


@functools.cache
def shared_parameters(estimator: type[Any], plan: type[Any]) -> tuple[str, ...]:
    """The parameters of an estimator that a plan has too. scikit-learn finds the names by looking
    at a signature, which takes a tenth of a small fit."""
    own = set(estimator._get_param_names())
    return tuple(f.name for f in fields(plan) if f.name in own)


def is_nothing(y: Any) -> bool:
    """Whether `validate_data` is not given a y."""
    return isinstance(y, str) and y == "no_validation"


def is_plain(estimator: Any, X: Any, y: Any, types: Sequence[type], reset: bool) -> bool:
    """Whether `validate_data` would find nothing to change or to refuse (but for NaN in X), as of
    arrays and CSR matrices of numbers with the right shapes. It takes longer to find out.

    y may be "no_validation". Without `reset`, X must be like the rows that were fitted.
    """
    is_csr = sp.issparse(X) and X.format == "csr"
    if not (is_csr or type(X) is np.ndarray) or X.ndim != 2 or 0 in X.shape or X.dtype not in types:
        return False
    known = (
        None
        if hasattr(estimator, "feature_names_in_")
        else getattr(estimator, "n_features_in_", None)
    )
    if not reset and known != X.shape[1]:
        return False
    if is_nothing(y):
        return True
    is_array = type(y) is np.ndarray and y.shape == X.shape[:1]
    return is_array and y.dtype.kind in "biuf" and bool(np.isfinite(y).all())


def check_labels(y: Any) -> None:
    """scikit-learn's `check_classification_targets`, which looks at y several times, where y might
    not be labels: no array of numbers, not whole, or hardly any of them equal."""
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in "biuf":
        classes = classes_in(y)
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


def progress_callback(callback: Callback | None, verbose: int, tol: float) -> Callback | None:
    """The callback, and a line per iteration (in a notebook, one that moves) if `verbose`."""
    return telling(callback, _line, ShareOfGap(tol)) if verbose else callback


def _line(progress: Progress) -> str:
    return (
        f"iteration {progress.iteration:5d}  objective {progress.primal:.8g}  "
        f"relative gap {progress.relative_gap:.2e}  {progress.seconds:.2f} s"
        f"{getattr(progress, 'note', '')}"
    )


def warn_if_missed(certificate: Certificate | None) -> None:
    """Says so, with the certificate, if an answer is not within the tolerance."""
    if certificate is None or certificate.status in (Status.OPTIMAL, Status.RULE_MET):
        return
    warnings.warn(
        f"the best model so far has {certificate}. Allow more iterations or time, or a larger tol.",
        ConvergenceWarning,
        stacklevel=callers_line(),
    )
