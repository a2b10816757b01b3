"""``maxmargin train``: from a data file to a model file with its certificate."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import checks, cluster, fitting, kinds, options
from maxmargin.cli import report as reports
from maxmargin.cli.console import print_json
from maxmargin.cli.info import facts_of, plain_parameters
from maxmargin.cli.options import Choices, Option
from maxmargin.cli.outputs import Outputs, checkpoints
from maxmargin.cli.progress import Messages
from maxmargin.cli.stages import Fitting, Tried

if TYPE_CHECKING:
    from maxmargin.problem import Progress

SCHEDULER = Option(
    "--scheduler", "Train on a Dask cluster; TRAIN may be a folder or a pattern.",
    metavar="ADDRESS", rare=True,
)  # fmt: skip
OPTIONS = (
    *(kinds.KIND, options.C, options.TOL, options.MAX_ITER, options.MAX_TIME, options.THREADS),
    *(SCHEDULER, options.FORMAT, options.TARGET, options.WEIGHT, options.DROP, options.ENCODE),
    *(options.ZERO_BASED, options.DTYPE, options.POSITIVE, options.NEGATIVE),
    *(options.REPORT, options.FORCE, options.QUIET, options.JSON),
    *kinds.options(*kinds.ONLY_CV),
)
EXAMPLES = (
    ("train spam.svm", "a linear classifier, in spam.svm.model"),
    ("train churn.csv --target churned -c 0.1", "labels in a column of a table"),
)


def train(
    data: Annotated[
        str | None, typer.Argument(metavar="TRAIN", help=options.DATA_HELP, show_default=False)
    ] = None,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Default: the name of TRAIN with .model, here."),
    ] = None,
    *,
    choices: Choices,
) -> None:
    """Train a model and save it with its certificate. Ctrl-C saves the best model so far."""
    from maxmargin.cli.rows import files_of
    from maxmargin.models import save
    from maxmargin.models.files import MODEL_FILE

    kinds.check_options(choices)
    on_cluster = choices.scheduler is not None
    named, model = files_of(data, model, choices)
    data = named[0]
    if on_cluster:
        cluster.check_options(choices)
    messages = Messages(choices.quiet)
    stage = stage_of(choices)
    plan = kinds.machine(choices.kind).plan(choices, messages.callback(stage.see))
    path = model or default_name(data)
    files = cluster.files_of(data) if on_cluster else named
    outputs = Outputs(files, choices.force)
    outputs.check(path, MODEL_FILE)
    if choices.checkpoint is not None:
        outputs.check(choices.checkpoint, checkpoints())
    reports.check(outputs, choices.report)
    if on_cluster:
        fitted = on_workers(files, choices, messages, stage, path)
    else:
        fitted = here(data, plan, choices, messages, stage)
    save(fitted.model, path, overwrite=True)  # checked before the work
    about = {"name": os.path.basename(path), "history": fitted.history}
    reported = reports.write(fitted.model, fitted.dataset, choices, **about)
    checks.status(fitted.model.certificate, choices.tol, saved=True)
    messages.say(f"{fitted.summary()}; model in {path}{reported}")
    if choices.json:
        print_json(fitted.facts(choices.kind) | {"model": path})


class Run:
    """A model, the rows it came from, and the seconds that went by."""

    dataset: Any = None  # None on a cluster
    history: Sequence[Progress] = ()

    def __init__(
        self, model: Any, shape: tuple[int, int], groups: str, start: float, read: float
    ) -> None:
        self.model, self.shape, self.groups = model, shape, groups
        self.read_seconds, self.fit_seconds = read - start, time.perf_counter() - read

    def summary(self) -> str:
        """For people."""
        from maxmargin.cli.rows import told_shape

        return (
            f"{told_shape(*self.shape)}, {self.groups}, solver {self.model.solver}\n"
            f"{self.model.certificate}\n"
            f"read {self.read_seconds:.2f} s, fit {self.fit_seconds:.2f} s"
        )

    def facts(self, kind: str) -> dict[str, Any]:
        """For machines."""
        model = self.model
        return {
            "kind": kind,
            "rows": self.shape[0],
            "features": self.shape[1],
            **facts_of(model),
            "solver": model.solver,
            "certificate": None if model.certificate is None else model.certificate.as_dict(),
            "certificates": [certificate.as_dict() for certificate in model.certificates],
            "parameters": plain_parameters(model),
            "read_seconds": self.read_seconds,
            "fit_seconds": self.fit_seconds,
        }


def stage_of(choices: Choices) -> Fitting | Tried:
    """What is shown of a fit."""
    if getattr(choices, "cells", None) is not None:
        return Tried("fitting", "cells")
    return Fitting(choices.tol, choices.max_time)


def here(data: str, plan: Any, choices: Choices, messages: Messages, stage: Fitting | Tried) -> Run:
    """A fit on this machine."""
    from maxmargin.cli import rows, tables

    start = time.perf_counter()
    dataset = rows.read_shown(data, choices, messages, rows.read_labelled)
    checks.before(dataset, choices, messages)
    read = time.perf_counter()
    if messages.watched and isinstance(stage, Fitting) and hasattr(dataset.X, "blocks"):
        stage.count(dataset.X)
    say_resumed(choices.checkpoint, messages)
    with fitting.warnings_as_messages(), messages.showing(stage):
        model, groups, history = fitting.fit(dataset, plan, choices)
    checks.after(model, dataset)
    tables.say_encoding(dataset, messages)
    run = Run(model, rows.shape_of(dataset), groups, start, read)
    run.dataset, run.history = dataset, history
    return run


def say_resumed(checkpoint: str | None, messages: Messages) -> None:
    """Announce that a run goes on where another ended."""
    from maxmargin.solvers.streaming.checkpoint import passes_in

    passes = None if checkpoint is None else passes_in(checkpoint)
    if passes is not None:
        messages.say(f"going on from {checkpoint}, where {passes} passes are done")


def on_workers(
    files: list[str], choices: Choices, messages: Messages, stage: Fitting | Tried, path: str
) -> Run:
    """A fit on a cluster, whose workers read as part of it."""
    start = time.perf_counter()
    with messages.showing(stage):
        model, groups, shape = cluster.fit(files, choices, messages.callback(stage.see), path)
    return Run(model, shape, groups, start, start)


def default_name(data: str) -> str:
    """LIBLINEAR's: the data's file name and .model, in the current folder."""
    if data == "-":
        raise typer.BadParameter("data from stdin has no name: say where the MODEL goes")
    return os.path.basename(data) + ".model"
