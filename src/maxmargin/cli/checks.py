"""Guesses and data that would cost a user hours: said before the fit, or right after it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli.console import warn
from maxmargin.cli.fitting import labels_of
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.outputs import is_store
from maxmargin.problem import REASONS, Status, percent

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.options import Choices
    from maxmargin.cli.progress import Messages
    from maxmargin.data import Dataset

CLASSIFIERS = ("linear", "kernel", "sparse-kernel", "measure")
FEW_CLASSES = 20  # that many are classes, however few the rows
ROWS_PER_CLASS = 100
LOOKED_AT = 10_000  # rows, evenly spaced
SCALES = 1e4  # between the largest values of two features
PREDICTED = 1000  # rows
SHOWN = 10  # labels
QUERY = re.compile(r"qid|query|group|session", re.IGNORECASE)  # in names of columns
FLAT = 0.05  # of the standard deviation of targets


def before(dataset: Dataset, choices: Choices, messages: Messages) -> None:
    """What should be known before hours of work on it."""
    if dataset.y is None:
        return
    if choices.target is None and not _has_names(dataset):
        messages.say(_taken(dataset))
    if choices.kind in CLASSIFIERS:
        check_classes(dataset, certain="kind" in choices.typed)
        warn_of_spellings(dataset)
    if not hasattr(dataset.X, "blocks"):
        warn_of_scales(dataset)


def warn_without_queries(dataset: Dataset) -> None:
    """Say so where rows are ranked, or judged, as one query."""
    if dataset.qid is None:
        names = [] if dataset.encoder is None else dataset.encoder.inputs
        likely = next((name for name in names if QUERY.search(name)), "COLUMN")
        warn(
            f"{dataset.source}: has no queries, so all rows count as one; give qid (svmlight), a "
            f"column (--qid {likely}), or the sizes of queries in {dataset.source}.query"
        )


def _has_names(dataset: Dataset) -> bool:
    """Whether there are names of columns, or, as in svmlight text, no columns to name."""
    if dataset.encoder is not None:  # columns without names are called f0, f1, ...
        return not re.fullmatch(r"f\d+", dataset.encoder.roles.get("target") or "")
    if getattr(getattr(dataset.X, "compact", dataset.X), "kind", None) == "strings":
        return True
    if dataset.feature_names is not None or dataset.index_base is not None:
        return True
    return os.path.isfile(dataset.source) and is_store(dataset.source)


def _taken(dataset: Dataset) -> str:
    words = dataset.y is not None and dataset.y.dtype.kind in "OU"
    first = dataset.encoder is not None and dataset.encoder.roles.get("target") == "f0"
    which = "the only column of words"
    if first or not words:
        which = "the first column, as in LightGBM and XGBoost"
    return (
        f"{dataset.source}: no line of names, so labels were taken from {which}; name another by "
        "position: --target 0 is the first, --target -1 the last"
    )


def check_classes(dataset: Dataset, certain: bool) -> None:
    """Refuse labels that look like numbers to predict, or like row numbers.

    Whoever is `certain` of the kind may have many classes, or few that are written as fractions.
    """
    import numpy as np

    y = np.asarray(dataset.y)
    count = len(np.unique(y))
    real = y.dtype.kind == "f" and bool((y != np.round(y)).any())
    many = count > max(FEW_CLASSES, len(y) / ROWS_PER_CLASS)
    if not (real and many if certain else real or many):
        return
    found = f"found {count} different labels in {len(y)} rows"
    if real:
        found = f"the labels are real numbers, such as {y[y != np.round(y)][0]:g}"
    numbers = "predict numbers with --kind regression, " if "regression" in KINDS else ""
    sure = "" if certain else ", or say --kind linear if they are classes"
    raise ValueError(f"{dataset.source}: {found}: {numbers}name another column with --target{sure}")


def warn_of_spellings(dataset: Dataset) -> None:
    """Say so where classes differ only in capitals, as "yes" and "Yes" do."""
    import numpy as np

    y = np.asarray(dataset.y)
    if y.dtype.kind not in "OU":
        return
    spelled: dict[str, list[str]] = {}
    for label in np.unique(y).tolist():
        spelled.setdefault(str(label).casefold(), []).append(str(label))
    alike = [" and ".join(map(repr, labels)) for labels in spelled.values() if len(labels) > 1]
    if alike:
        warn(
            f"{dataset.source}: {', '.join(alike)} are classes of their own, which differ in "
            "capitals only: spell them alike if they are the same"
        )


def warn_of_unknown_labels(unknown: list[str], known: list[str], source: str) -> None:
    """Say so where rows are judged by labels that the model never gives."""
    if unknown:
        what = "label" if len(unknown) == 1 else "labels"
        warn(
            f"{source}: the model ({_some(known)}) does not know the {what} {_some(unknown)}: such "
            "rows count as wrong"
        )


def _some(labels: list[str]) -> str:
    return ", ".join(labels[:SHOWN]) + ", ..." * (len(labels) > SHOWN)


def warn_of_scales(dataset: Dataset) -> None:
    """Say so where features are so unlike that the largest decide alone."""
    import numpy as np

    X: Any = dataset.X
    step = max(1, X.shape[0] // LOOKED_AT)
    largest = abs(X[::step]).max(axis=0)
    largest = largest.toarray().ravel() if hasattr(largest, "toarray") else np.asarray(largest)
    known = np.flatnonzero(np.isfinite(largest) & (largest > 0))
    if known.size < 2:
        return
    high = known[np.argmax(largest[known])]
    low = known[np.argmin(largest[known])]
    if largest[high] > SCALES * largest[low]:
        warn(
            f"features differ widely in scale: {_name(dataset, high)} reaches {largest[high]:.3g}, "
            f"{_name(dataset, low)} only {largest[low]:.3g}; fits are faster and better once "
            "features are scaled (maxmargin scale)"
        )


def _name(dataset: Dataset, j: Any) -> str:
    if dataset.feature_names is not None:
        return f"{dataset.feature_names[j]!r}"
    return f"feature {j + (1 if dataset.index_base is None else dataset.index_base)}"


def after(model: Any, dataset: Dataset) -> None:
    """Say so where all rows were one query, or the model gives all rows about the same answer."""
    X: Any = dataset.X
    if model.task == "ranking":
        warn_without_queries(dataset)
    if hasattr(X, "blocks") or model.task == "ranking":
        return
    if not all(c.status in (Status.OPTIMAL, Status.RULE_MET) for c in model.certificates):
        return  # a run cut short has learned too little to blame C, and is warned of elsewhere
    model = replace(model, encoder=None)  # these rows are encoded already
    some = slice(None, None, max(1, X.shape[0] // PREDICTED))
    predicted: np.ndarray = model.predict(X[some])
    if not hasattr(model, "classes"):
        warn_of_flat(predicted, labels_of(dataset)[some])
    elif (predicted == predicted[0]).all():
        warn(
            f"all rows are predicted as {predicted[0]}: try a larger -c, or --class-weight "
            "balanced where classes are of unequal size"
        )


def warn_of_flat(predicted: np.ndarray, y: np.ndarray) -> None:
    """Say so where predicted numbers hardly differ: C may be small for large targets."""
    spread, wanted = float(predicted.std(axis=0).max()), float(y.std())
    if spread < FLAT * wanted:
        warn(
            f"predictions hardly differ between rows (standard deviation {spread:.3g}, that of the "
            f"targets is {wanted:.3g}): -c is too small for targets this large, or the columns say "
            "little about them; maxmargin cv tells which"
        )


def status(certificate: Any, tol: float, *, saved: bool) -> bool:
    """Say so if the answer is less precise than asked for; whether it was cut short."""
    if certificate is None or certificate.status in (Status.OPTIMAL, Status.RULE_MET):
        return False
    remedy = "" if certificate.status is Status.INTERRUPTED else ": allow more, or take a larger -e"
    warn(
        f"{REASONS[certificate.status]}: the best model so far{' is saved' if saved else ''}, "
        f"{certificate.quality} (asked for {percent(tol)}){remedy}"
    )
    return certificate.status in (Status.INTERRUPTED, Status.MAX_TIME)


def edge(name: str, option: str, best: float, tried: list[float]) -> None:
    """Say so where the best value is the least or the largest tried."""
    if len(tried) < 2 or min(tried) < best < max(tried):
        return
    way, factor = ("smallest", 0.1) if best == min(tried) else ("largest", 10.0)
    more = ",".join(f"{best * factor**k:.2g}" for k in range(3))
    warn(f"the best {name}, {best:.4g}, is the {way} that was tried: go on with {option} {more}")
