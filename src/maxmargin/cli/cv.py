"""``maxmargin cv``: the best C by cross-validation, each solution warm-starting the next."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import fitting, options
from maxmargin.cli.console import Messages, print_json, print_table
from maxmargin.cli.kinds import linear
from maxmargin.cli.train import check_target


def cv(
    data: Annotated[str, typer.Argument(metavar="TRAIN", help=options.DATA_HELP)],
    model: Annotated[
        str | None,
        typer.Argument(metavar="[MODEL]", help="Save a model refitted with the best C here."),
    ] = None,
    Cs: Annotated[
        str,
        typer.Option("--Cs", metavar="LIST", help="Values as 0.01,0.1,1 or how many to try."),
    ] = "10",
    folds: Annotated[int, typer.Option("-v", "--folds", min=2, help="Parts to split into.")] = 5,
    tol: options.Tolerance = 1e-3,
    bias: options.Bias = 1.0,
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
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Find the C that classifies held-out rows best."""
    from maxmargin.cli import rows
    from maxmargin.models import save

    tried = values_of(Cs)
    messages = Messages(quiet)
    if model is not None:
        check_target(model)
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
    )
    found = linear.search(dataset, tried, folds, choices, messages.callback())
    if model is not None:
        save(found.fitted.model, model)
    messages.clear()
    mean, std = found.scores.mean(axis=0).tolist(), found.scores.std(axis=0).tolist()
    if json:
        print_json(
            {
                "best_C": found.C,
                "Cs": found.Cs,
                "mean": mean,
                "std": std,
                "scores": found.scores.tolist(),
                "model": model,
            }
        )
        return
    print_table(
        f"accuracy over {folds} folds",
        ["C", "mean", "std", ""],
        [
            [f"{C:g}", f"{m:.4f}", f"{s:.4f}", "best" if C == found.C else ""]
            for C, m, s in zip(found.Cs, mean, std)
        ],
    )
    if model is not None:
        messages.say(f"model with C = {found.C:g} in {model}")


def values_of(text: str) -> int | list[float]:
    """``10`` as a number of values to choose, ``0.1,1`` as the values."""
    try:
        if "," not in text and text.isdigit():
            return int(text)
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"--Cs {text!r}: expected numbers with commas between them, or how many to try"
        ) from None
