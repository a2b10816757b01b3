"""``maxmargin train --scheduler``: files read, products done by workers of a Dask cluster."""

from __future__ import annotations

import glob
import os
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.kinds import CUTTING_PLANES
from maxmargin.cli.kinds.measure import measure_of
from maxmargin.cli.options import Choices, spelled

if TYPE_CHECKING:
    from maxmargin.problem import Callback

ESTIMATORS = {  # of `maxmargin.distributed`
    "linear": "LinearSVC",
    "regression": "LinearSVR",
    "rank": "RankSVM",
    "ordinal": "OrdinalSVC",
    "measure": "MeasureSVC",
    "kernel": "KernelSVC",
}


def check_options(choices: Choices) -> None:
    """Refuse what does not go with a cluster."""
    if choices.kind not in ESTIMATORS:
        raise typer.BadParameter(
            f"--scheduler is for --kind {', '.join(ESTIMATORS)}; this is {choices.kind}: leave it "
            "out"
        )
    if choices.solver == "dual":
        raise typer.BadParameter(
            "--solver dual does not work on a cluster: expected one of "
            f"{', '.join((*CUTTING_PLANES, 'newton'))}"
        )
    if choices.kind == "kernel" and choices.cells is None:
        raise typer.BadParameter(
            "--scheduler: workers train kernel machines in cells: give --cells 2000, say"
        )
    for name in ("seed", "from_disk", "probabilities", "positive", "negative"):
        if name in choices.typed and (name, choices.kind) != ("seed", "kernel"):
            raise typer.BadParameter(f"{spelled(name)} has no use with --scheduler: leave it out")


def files_of(data: str) -> list[str]:
    """The files that TRAIN names: one, all in a folder, or those that match a pattern."""
    if data == "-":
        raise typer.BadParameter("workers cannot read the stdin of this command: name files")
    if os.path.isdir(data):
        found = sorted(entry.path for entry in os.scandir(data) if entry.is_file())
    else:
        found = sorted(glob.glob(data)) or [data]
    if not found:
        raise ValueError(f"{data}: the folder holds no files")
    return [os.path.abspath(path) for path in found]


def fit(
    files: list[str], choices: Choices, callback: Callback | None, path: str
) -> tuple[Any, str, tuple[int, int]]:
    """The model, what there was to tell apart, and the rows and columns it was trained on.

    If rows are lost for good the best model so far is written to `path`.
    """
    from sklearn.exceptions import ConvergenceWarning

    from maxmargin.cli.rows import reading
    from maxmargin.distributed.errors import ClusterError, dask_modules
    from maxmargin.models.labels import whole_numbers

    _, distributed = dask_modules()
    about = {name: value for name, value in reading(choices).items() if name != "threads"}
    if choices.text is not None:  # its strings are the rows: there are no columns to encode
        about.pop("encode", None)
    encoding = _encoding(files, about)
    estimator = _estimator(choices, callback).set_params(read_options=about)
    if choices.features is not None and choices.text is not None:
        about["text"] = choices.text
    if choices.kind == "ordinal":
        estimator.set_params(order=_order(choices.order, files, about))
    with distributed.Client(choices.scheduler, set_as_default=False) as client:
        estimator.set_params(client=client)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the command says so itself
            try:
                estimator.fit(files)
            except ClusterError as error:
                raise ValueError(f"{error}{_rescued(error.model, path)}") from error
    model = estimator.to_model()
    if encoding is not None:
        model = replace(model, encoder=encoding, feature_names=tuple(encoding.feature_names))
    groups = f"{len(files)} partitions"
    if hasattr(model, "classes"):
        model = replace(model, classes=whole_numbers(model.classes))
        groups = f"{len(model.classes)} classes, {groups}"
    return model, groups, (estimator.n_samples_, model.n_features)


def _encoding(files: list[str], about: dict[str, Any]) -> Any:
    """How workers encode the columns of tables, found here in passes over all files."""
    from maxmargin.data.encoding.source import encoding_of_files

    encode = about.pop("encode", None)
    if encode is None:
        return None
    encoding = encoding_of_files(files, encode, **about)
    if encoding is not None:
        about["encode"] = encoding
    return encoding


def _rescued(model: Any, path: str) -> str:
    """Keeps what a failed fit has, and says so."""
    from maxmargin.models import save

    if model is None:
        return ""
    save(model, path, overwrite=True)  # checked before the work
    return f"; the best model so far, {model.certificate.quality}, is in {path}"


def _estimator(choices: Choices, callback: Callback | None) -> Any:
    """The estimator of the kind, its parameters filled by the options of the same names."""
    from maxmargin import distributed

    estimator = getattr(distributed, ESTIMATORS[choices.kind])()
    bias = 1.0 if choices.bias is None else choices.bias
    given = vars(choices) | {
        "callback": callback,
        "n_jobs": choices.threads,
        "random_state": choices.seed,
        "fit_intercept": bias > 0,
        "intercept_scaling": bias or 1.0,
        "class_weight": class_weights(choices.class_weight or []),
        "order": None,  # its labels are those of the files
    }
    if choices.kind == "measure":
        measure = measure_of(choices)
        given |= {"measure": measure.name} | {n: getattr(measure, n) for n in ("k", "beta")}
    known = estimator.get_params(deep=False)
    own = {n: value for n, value in given.items() if n in known and value is not None}
    return estimator.set_params(**own)


def _order(text: str | None, files: list[str], about: dict[str, Any]) -> list[Any] | None:
    """The labels from the lowest to the highest; None for numbers, whose order is known."""
    from maxmargin.data import open_source

    if text is not None:
        return [_label(word) for word in text.split(",")]
    first = next(open_source(files[0], threads=1, **about).blocks())
    if first.y is not None and first.y.dtype.kind in "OUT":
        raise ValueError(
            f"{files[0]}: found the label {str(first.y[0])!r}; which is the lowest? Say so with "
            "--order LOWEST,...,HIGHEST"
        )
    return None


def class_weights(texts: list[str]) -> dict[Any, Any] | str | None:
    """As `weights.class_weights`, before any worker has seen the labels."""
    if not texts or texts == ["balanced"]:
        return texts[0] if texts else None
    pairs = (text.rpartition("=") for text in texts)
    return {_label(name): float(number) for name, _, number in pairs}


def _label(name: str) -> float | str:
    try:
        return float(name)
    except ValueError:
        return name
