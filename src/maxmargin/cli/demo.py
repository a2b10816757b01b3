"""``maxmargin demo``: what this is about, on real data, in seconds."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated, Any

import typer

from maxmargin.cli import options
from maxmargin.cli.evaluate import show
from maxmargin.cli.fitting import classes_of
from maxmargin.cli.kinds.linear import Linear
from maxmargin.cli.options import Choices
from maxmargin.cli.outputs import Outputs

OPTIONS = (replace(options.TOL, default=1e-4), options.THREADS, options.FORCE)


def demo(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where the model and the picture go.")
    ] = "maxmargin-demo",
    *,
    choices: Choices,
) -> None:
    """Train on bundled real data; show the certificate, the test accuracy and the run."""
    from maxmargin import data
    from maxmargin.models import save
    from maxmargin.models.files import MODEL_FILE
    from maxmargin.models.labels import whole_numbers
    from maxmargin.report import gap_chart
    from maxmargin.report.saving import PICTURE

    os.makedirs(folder, exist_ok=True)
    path, picture = os.path.join(folder, "adult.model"), os.path.join(folder, "training.png")
    outputs = Outputs([], choices.force)
    outputs.check(path, MODEL_FILE)
    outputs.check(picture, PICTURE)
    training, test = data.load_demo()
    for dataset in (training, test):
        dataset.y = whole_numbers(classes_of(dataset))
    n, d = training.X.shape
    typer.echo(f"UCI Adult (excerpt): who earns more than $50K? {n} people, {d} features.")
    machine = Linear()
    trained = machine.fit(training, machine.plan(choices, None), choices)  # it takes a blink
    typer.echo(f"Solver {trained.model.solver}: {trained.model.certificate}.\n")
    typer.echo("How the relative duality gap fell:")
    typer.echo(gap_chart(trained.history, choices.tol) + "\n")
    typer.echo(f"On {test.X.shape[0]} people it never saw:")
    show(machine.evaluate(trained.model, test, choices.threads))
    save(trained.model, path, overwrite=True)  # checked before the work
    typer.echo(f"Model: {path} (maxmargin info {path})")
    typer.echo(_picture(trained.history, picture, choices.tol))


def _picture(history: Any, path: str, tol: float) -> str:
    from maxmargin.report import training_curve

    try:
        training_curve(history, path, tol=tol, title="UCI Adult: primal and dual close in")
    except ImportError as error:
        return f"No picture: {error}"
    return f"Picture: {path}"
