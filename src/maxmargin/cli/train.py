"""``maxmargin train``: from a data file to a model file with its certificate."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import cluster, fitting, kinds, options
from maxmargin.cli.console import Messages, print_json, warn
from maxmargin.cli.outputs import Outputs, checkpoints

if TYPE_CHECKING:
    from maxmargin.cli.fitting import Fitted


def train(
    context: typer.Context,
    data: Annotated[str, typer.Argument(metavar="TRAIN", help=options.DATA_HELP)],
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="Default: the name of TRAIN with .model, here."),
    ] = None,
    kind: options.KindChoice = options.Kind.linear,
    C: Annotated[float, typer.Option("-c", "--C", metavar="C", help="Cost of errors.")] = 1.0,
    tol: options.Tolerance = 1e-3,
    bias: options.Bias = None,
    class_weight: options.ClassWeight = None,
    solver: options.SolverChoice = options.Solver.auto,
    kernel: options.KernelChoice = options.Kernel.rbf,
    gamma: options.Gamma = None,
    memory: options.Memory = None,
    n_basis: options.BasisSize = None,
    basis: options.BasisChoice = options.Basis.free,
    measure: options.MeasureChoice = None,
    k: options.AtK = None,
    beta: options.Beta = None,
    order: options.Order = None,
    features: options.Features = None,
    checkpoint: options.Checkpoint = None,
    checkpoint_every: options.CheckpointEvery = 600.0,
    max_time: options.MaxTime = None,
    max_iter: options.MaxIter = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    format: options.SourceFormat = None,
    text: options.TextColumn = None,
    target: options.Target = None,
    qid: options.Query = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    from_disk: options.FromDisk = False,
    scheduler: options.Scheduler = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a model and save it with its certificate.

    Ctrl-C ends the fit early and saves the best model so far.
    """
    from maxmargin.cli import rows
    from maxmargin.models import save
    from maxmargin.models.files import MODEL_FILE

    kinds.check_options(kind.value, typed(context), solver.value)
    if scheduler is not None:
        cluster.check_options(kind.value, typed(context), solver.value)
    choices = fitting.Choices(
        C=C,
        tol=tol,
        bias=bias,
        class_weight=class_weight or [],
        solver=solver.value,
        max_time=max_time,
        max_iter=max_iter,
        threads=threads,
        seed=seed,
        kernel=kernel.value,
        gamma=gamma,
        memory=memory,
        n_basis=n_basis,
        basis=basis.value,
        measure=None if measure is None else measure.value,
        k=k,
        beta=beta,
        order=order,
        features=features,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
    )
    machine = kinds.machine(kind.value)
    messages = Messages(quiet)
    path = model or default_name(data)
    files = [data] if scheduler is None else cluster.files_of(data)
    outputs = Outputs(files, force)
    outputs.check(path, MODEL_FILE)
    if checkpoint is not None:
        outputs.check(checkpoint, checkpoints())
    start = time.perf_counter()
    messages.now(f"reading {data}")
    about: dict[str, Any] = {
        "format": format,
        "target": target,
        "qid": qid,
        "zero_based": zero_based,
    }
    if scheduler is not None:
        read = start  # workers read as part of the fit
        reading = rows.reading_options(**about, threads=None, dtype=dtype)
        fitted, shape = cluster.fit(
            kind.value, files, scheduler, choices, reading, messages.callback(), path
        )
    else:
        dataset = rows_of(kind.value, data, from_disk, text, **about, threads=threads, dtype=dtype)
        read = time.perf_counter()
        with fitting.warnings_as_messages():
            fitted = machine.fit(dataset, choices, messages.callback())
        shape = rows.shape_of(dataset)
    fit = time.perf_counter()
    save(fitted.model, path, overwrite=True)  # checked before the work
    messages.clear()
    report_status(fitted, tol)
    messages.say(
        f"{rows.told_shape(*shape)}, "
        f"{fitted.groups}, solver {fitted.model.solver}\n"
        f"{fitted.model.certificate}\n"
        f"read {read - start:.2f} s, fit {fit - read:.2f} s; model in {path}"
    )
    if json:
        print_json(
            summary(kind.value, fitted.model, shape)
            | {"model": path, "read_seconds": read - start, "fit_seconds": fit - read}
        )


def typed(context: typer.Context) -> set[str]:
    """The parameters that were given on the command line, rather than left at their defaults."""
    return {
        name
        for name in context.params
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    }


def rows_of(kind: str, data: str, from_disk: bool, text: str | None, **about: Any) -> Any:
    """The rows of TRAIN: in memory, or left on disk where the kind or the user wants that."""
    from maxmargin.cli import rows

    if kinds.KINDS[kind].from_disk:
        return rows.as_source(data, text=text, **about)
    check_format(about["format"])
    return rows.leave_on_disk(data, **about) if from_disk else rows.read_labelled(data, **about)


def check_format(format: options.AnyFormat | None) -> None:
    """FASTA is strings, which only streams make features of."""
    if format == options.AnyFormat.fasta:
        raise typer.BadParameter("--format fasta is for --kind stream, with --features")


def default_name(data: str) -> str:
    """LIBLINEAR's: the data's file name and .model, in the current folder."""
    if data == "-":
        raise typer.BadParameter("data from stdin has no name: say where the MODEL goes")
    return os.path.basename(data) + ".model"


def report_status(fitted: Fitted, tol: float) -> None:
    """Say so if the answer is less precise than asked for."""
    from maxmargin.problem import REASONS, Status, percent

    certificate = fitted.model.certificate
    if certificate is None or certificate.status in (Status.OPTIMAL, Status.RULE_MET):
        return
    interrupted = certificate.status == Status.INTERRUPTED
    remedy = "" if interrupted else ": allow more, or take a larger -e"
    warn(
        f"{REASONS[certificate.status]}: the best model so far is saved, {certificate.quality} "
        f"(asked for {percent(tol)}){remedy}"
    )


def summary(kind: str, model: Any, shape: tuple[int, int]) -> dict:
    """A model and its run for machines."""
    return {
        "kind": kind,
        "rows": shape[0],
        "features": shape[1],
        **kinds.machine(kind).facts(model),
        "solver": model.solver,
        "certificate": None if model.certificate is None else model.certificate.as_dict(),
        "certificates": [certificate.as_dict() for certificate in model.certificates],
        "parameters": plain_parameters(model),
    }


def plain_parameters(model: Any) -> dict:
    """Parameters as JSON can hold them: mappings, whose keys may be numbers, as pairs."""
    return {
        name: list(map(list, value.items())) if isinstance(value, dict) else value
        for name, value in model.parameters.items()
    }
