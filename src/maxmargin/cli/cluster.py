"""``maxmargin train --scheduler``: files read, products done by workers of a Dask cluster."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.fitting import DEFAULT_MEASURE, Choices, Fitted
from maxmargin.cli.kinds import CUTTING_PLANES, spelled
from maxmargin.cli.kinds.measure import number_or_share

if TYPE_CHECKING:
    from maxmargin.problem import Callback

KINDS = ("linear", "rank", "measure")


def check_options(kind: str, given: Collection[str], solver: str) -> None:
    """Refuse what does not go with a cluster."""
    if kind not in KINDS:
        raise typer.BadParameter(
            f"--scheduler is for --kind {', '.join(KINDS)}; this is {kind}: leave it out"
        )
    if solver not in CUTTING_PLANES:
        raise typer.BadParameter(
            f"--solver {solver} does not work on a cluster: expected one of "
            f"{', '.join(CUTTING_PLANES)}"
        )
    for name in ("seed", "from_disk"):
        if name in given:
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
    kind: str,
    files: list[str],
    scheduler: str,
    choices: Choices,
    reading: dict[str, Any],
    callback: Callback | None,
    path: str,
) -> tuple[Fitted, tuple[int, int]]:
    """The model, and the rows and columns it was trained on.

    If rows are lost for good the best model so far is written to `path`.
    """
    from sklearn.exceptions import ConvergenceWarning

    from maxmargin.distributed.errors import ClusterError, dask_modules
    from maxmargin.models.labels import whole_numbers

    _, distributed = dask_modules()
    estimator = _estimator(kind, choices, callback).set_params(read_options=reading)
    with distributed.Client(scheduler, set_as_default=False) as client:
        estimator.set_params(client=client)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the command says so itself
            try:
                estimator.fit(files)
            except ClusterError as error:
                raise ValueError(f"{error}{_rescued(error.model, path)}") from error
    model = estimator.to_model()
    groups = f"{len(files)} partitions"
    if kind != "rank":
        model = replace(model, classes=whole_numbers(model.classes))
        groups = f"{len(model.classes)} classes, {groups}"
    return Fitted(model, estimator.history_, groups), (estimator.n_samples_, model.n_features)


def _rescued(model: Any, path: str) -> str:
    """Keeps what a failed fit has, and says so."""
    from maxmargin.models import save

    if model is None:
        return ""
    save(model, path, overwrite=True)  # checked before the work
    return f"; the best model so far, {model.certificate.quality}, is in {path}"


def _estimator(kind: str, choices: Choices, callback: Callback | None) -> Any:
    from maxmargin.distributed import LinearSVC, MeasureSVC, RankSVM

    common: dict[str, Any] = {
        "C": choices.C,
        "solver": choices.solver,
        "tol": choices.tol,
        "max_iter": choices.max_iter,
        "max_time": choices.max_time,
        "n_jobs": choices.threads,
        "callback": callback,
    }
    if kind == "rank":
        return RankSVM(**common)
    intercept: dict[str, Any] = {
        "fit_intercept": choices.constant > 0,
        "intercept_scaling": choices.constant or 1.0,
        "class_weight": class_weights(choices.class_weight),
    }
    if kind == "linear":
        return LinearSVC(**common, **intercept)
    return MeasureSVC(
        choices.measure or DEFAULT_MEASURE,
        k=number_or_share(choices.k),
        beta=1.0 if choices.beta is None else choices.beta,
        **common,
        **intercept,
    )


def class_weights(texts: list[str]) -> dict | str | None:
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
