"""``maxmargin train``: from a data file to a model file with its certificate."""

from __future__ import annotations

import os
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from maxmargin.cli import fitting, kernel, options
from maxmargin.cli.console import Messages, print_json, warn

if TYPE_CHECKING:
    from maxmargin.cli.fitting import Fitted


class Kind(StrEnum):
    """Kinds of machines that can be trained."""

    linear = "linear"
    kernel = "kernel"


def train(
    data: Annotated[str, typer.Argument(metavar="TRAIN", help=options.DATA_HELP)],
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="Default: the name of TRAIN with .model, here."),
    ] = None,
    kind: Annotated[Kind, typer.Option("--kind", help="What to train.")] = Kind.linear,
    C: Annotated[float, typer.Option("-c", "--C", metavar="C", help="Cost of errors.")] = 1.0,
    tol: options.Tolerance = 1e-3,
    bias: options.Bias = 1.0,
    class_weight: options.ClassWeight = None,
    solver: options.SolverChoice = options.Solver.auto,
    kernel_name: kernel.KernelChoice = kernel.KernelName.rbf,
    gamma: kernel.Gamma = "scale",
    memory: kernel.Memory = None,
    max_time: options.MaxTime = None,
    max_iter: options.MaxIter = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    format: options.DataFormat = None,
    target: options.Target = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a model and save it with its certificate.

    Ctrl-C ends the fit early and saves the best model so far.
    """
    from maxmargin.cli import rows
    from maxmargin.models import save

    messages = Messages(quiet)
    path = model or default_name(data)
    check_target(path)
    start = time.perf_counter()
    messages.now(f"reading {data}")
    dataset = rows.read_labelled(
        data, format=format, target=target, zero_based=zero_based, threads=threads, dtype=dtype
    )
    read = time.perf_counter()
    choices = fitting.Choices(
        tol=tol,
        bias=bias,
        class_weight=class_weight or [],
        solver=solver.value,
        max_time=max_time,
        max_iter=max_iter,
        threads=threads,
        seed=seed,
    )
    if kind is Kind.kernel:
        fitted = kernel.fit_kernel(
            dataset, C, choices, kernel_name, gamma, memory, messages.callback()
        )
    else:
        fitted = fitting.fit_linear(dataset, C, choices, messages.callback())
    fit = time.perf_counter()
    save(fitted.model, path)
    messages.clear()
    report_status(fitted, tol)
    messages.say(
        f"{dataset.X.shape[0]} rows x {dataset.X.shape[1]} features, "
        f"{len(fitted.model.classes)} classes, solver {fitted.model.solver}\n"
        f"{fitted.model.certificate}\n"
        f"read {read - start:.2f} s, fit {fit - read:.2f} s; model in {path}"
    )
    if json:
        print_json(
            summary(fitted, dataset.X.shape, kind)
            | {"model": path, "read_seconds": read - start, "fit_seconds": fit - read}
        )


def default_name(data: str) -> str:
    """LIBLINEAR's: the data's file name and .model, in the current folder."""
    if data == "-":
        raise typer.BadParameter("data from stdin has no name: say where the MODEL goes")
    return os.path.basename(data) + ".model"


def check_target(path: str) -> None:
    """Find out before the work, not after it, that a model has nowhere to go."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise ValueError(f"{path}: is a folder; name a file for the model")
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: cannot write to the folder {folder}: create it or name another")


def report_status(fitted: Fitted, tol: float) -> None:
    """Say so if the answer is less precise than asked for."""
    from maxmargin.problem import Status

    certificate = fitted.model.certificate
    if certificate is None or certificate.status == Status.OPTIMAL:
        return
    if certificate.status == Status.INTERRUPTED:
        warn(
            f"interrupted: the best model so far is saved, at most {certificate.relative_gap:.2g} "
            f"above the best possible (asked for {tol:g})"
        )
    else:
        warn(
            f"stopped by {certificate.status} with relative gap {certificate.relative_gap:.2g}, "
            f"asked for {tol:g}: allow more, or take a larger -e"
        )


def summary(fitted: Fitted, shape: tuple[int, int], kind: Kind = Kind.linear) -> dict:
    """A model and its run for machines."""
    model = fitted.model
    return {
        "kind": kind.value,
        "rows": shape[0],
        "features": shape[1],
        "classes": model.classes.tolist(),
        "solver": model.solver,
        "certificate": None if model.certificate is None else model.certificate.as_dict(),
        "certificates": [certificate.as_dict() for certificate in model.certificates],
        "parameters": {
            name: list(map(list, value.items())) if isinstance(value, dict) else value
            for name, value in model.parameters.items()
        },
    }
