"""``maxmargin cv``: the best C (and gamma) by cross-validation, each solution starting the next."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import fitting, kinds, options
from maxmargin.cli.console import Messages, print_json, print_table, printable, warn
from maxmargin.cli.fitting import Table
from maxmargin.cli.outputs import Outputs
from maxmargin.cli.train import typed

DEFAULT_GAMMAS = 10


def cv(
    context: typer.Context,
    data: Annotated[str, typer.Argument(metavar="TRAIN", help=options.DATA_HELP)],
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="Save a model refitted with the best C here."),
    ] = None,
    Cs: Annotated[
        str,
        typer.Option("--Cs", metavar="LIST", help="Values as 0.01,0.1,1 or how many to try."),
    ] = "10",
    kind: options.KindChoice = options.Kind.linear,
    gammas: Annotated[
        str | None,
        typer.Option(
            "--gammas",
            metavar="LIST",
            help="--kind kernel: values, or how many to try.",
            show_default=str(DEFAULT_GAMMAS),
        ),
    ] = None,
    kernel: options.KernelChoice = options.Kernel.rbf,
    memory: options.Memory = None,
    picture: Annotated[
        str | None,
        typer.Option("--picture", metavar="FILE", help="--kind kernel: draw the errors."),
    ] = None,
    folds: Annotated[int, typer.Option("-v", "--folds", min=2, help="Parts to split into.")] = 5,
    tol: options.Tolerance = 1e-3,
    bias: options.Bias = None,
    class_weight: options.ClassWeight = None,
    solver: options.SolverChoice = options.Solver.auto,
    max_time: options.MaxTime = None,
    max_iter: options.MaxIter = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    format: options.DataFormat = None,
    target: options.Target = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float32",
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Find the C (of a kernel machine also the gamma) that classifies held-out rows best."""
    from maxmargin.cli import rows
    from maxmargin.models import save
    from maxmargin.models.files import MODEL_FILE

    kinds.check_options(kind.value, typed(context), solver.value)
    machine = kinds.searcher(kind.value)
    if gammas is not None:
        fitting.check_width(kernel.value, "--gammas")
    widths = DEFAULT_GAMMAS if gammas is None else values_of(gammas, "--gammas")
    grid = fitting.Grid(values_of(Cs, "--Cs"), widths, folds)
    messages = Messages(quiet)
    outputs = Outputs([data], force)
    if model is not None:
        outputs.check(model, MODEL_FILE)
    if picture is not None:
        from maxmargin.report.saving import PICTURE

        outputs.check(picture, PICTURE)
    messages.now(f"reading {data}")
    dataset = rows.read_labelled(
        data, format=format, target=target, zero_based=zero_based, threads=threads, dtype=dtype
    )
    choices = fitting.Choices(
        tol=tol,
        bias=bias,
        class_weight=class_weight or [],
        solver=solver.value,
        max_time=max_time,
        max_iter=max_iter,
        threads=threads,
        seed=seed,
        kernel=kernel.value,
        memory=memory,
    )
    found = machine.search(dataset, grid, choices, messages)
    if model is not None:
        save(found.fitted.model, model, overwrite=True)  # checked before the work
    messages.clear()
    if picture is not None and found.draw is not None:
        found.draw(picture)
    if found.warning is not None:
        warn(found.warning)
    if json:
        print_json(found.facts | {"model": model, "picture": picture})
        return
    show(found.report)
    if model is not None:
        messages.say(f"model with {found.best} in {model}")


def show(report: Table | str) -> None:
    """What was found, for people."""
    if isinstance(report, str):
        typer.echo(printable(report))
    else:
        print_table(report.title, report.columns, report.rows)


def values_of(text: str, option: str) -> int | list[float]:
    """``10`` as a number of values to choose, ``0.1,1`` as the values."""
    try:
        if "," not in text and text.isdigit():
            return int(text)
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text!r}: expected numbers with commas between them, or how many to try"
        ) from None
