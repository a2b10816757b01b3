"""``maxmargin demo``: what this is about, on real data, in seconds."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from maxmargin.cli import fitting, options
from maxmargin.cli.console import Messages
from maxmargin.cli.evaluate import show
from maxmargin.cli.kinds import linear
from maxmargin.cli.outputs import Outputs


def demo(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="Where the model and the picture go.")
    ] = "maxmargin-demo",
    tol: options.Tolerance = 1e-4,
    threads: options.Threads = None,
    force: options.Force = False,
) -> None:
    """Train on bundled real data; show the certificate, the test accuracy and the run."""
    from maxmargin import data
    from maxmargin.cli.rows import labels_of
    from maxmargin.models import save
    from maxmargin.models.files import MODEL_FILE
    from maxmargin.models.labels import whole_numbers
    from maxmargin.report import gap_chart
    from maxmargin.report.saving import PICTURE

    os.makedirs(folder, exist_ok=True)
    model, picture = os.path.join(folder, "adult.model"), os.path.join(folder, "training.png")
    outputs = Outputs([], force)
    outputs.check(model, MODEL_FILE)
    outputs.check(picture, PICTURE)
    training, test = data.load_demo()
    for dataset in (training, test):
        dataset.y = whole_numbers(labels_of(dataset))
    n, d = training.X.shape
    typer.echo(f"UCI Adult (excerpt): who earns more than $50K? {n} people, {d} features.")
    choices = fitting.Choices(tol=tol, threads=threads)
    fitted = linear.fit(training, choices, Messages().callback())
    typer.echo(f"Solver {fitted.model.solver}: {fitted.model.certificate}.\n")
    typer.echo("How the relative duality gap fell:")
    typer.echo(gap_chart(fitted.history, tol) + "\n")
    typer.echo(f"On {test.X.shape[0]} people it never saw:")
    show(linear.evaluate(fitted.model, test, threads))
    save(fitted.model, model, overwrite=True)  # checked before the work
    typer.echo(f"Model: {model} (maxmargin info {model})")
    typer.echo(_picture(fitted.history, picture, tol))


def _picture(history, path: str, tol: float) -> str:
    from maxmargin.report import training_curve

    try:
        training_curve(history, path, tol=tol, title="UCI Adult: primal and dual close in")
    except ImportError as error:
        return f"No picture: {error}"
    return f"Picture: {path}"
