"""``maxmargin cv``: the best C (and gamma) by cross-validation, each solution starting the next."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import fitting, kinds, options
from maxmargin.cli.console import Messages, print_json, print_table
from maxmargin.cli.train import check_target, typed

SEARCHED = ("linear", "kernel")


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
        str,
        typer.Option("--gammas", metavar="LIST", help="--kind kernel: values, or how many."),
    ] = "10",
    kernel: options.KernelChoice = options.KernelName.rbf,
    memory: options.Memory = None,
    picture: Annotated[
        str | None,
        typer.Option("--picture", metavar="FILE", help="--kind kernel: draw the errors."),
    ] = None,
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

    if kind.value not in SEARCHED:
        raise typer.BadParameter(
            f"--kind {kind.value}: cv searches for {' or '.join(SEARCHED)} machines; in Python, "
            "scikit-learn's GridSearchCV takes the estimators of all kinds"
        )
    kinds.check_options(kind.value, typed(context), solver.value)
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
        kernel=kernel.value,
        memory=memory,
    )
    if kind is options.Kind.kernel:
        from maxmargin.cli.kinds import kernel as machines

        trained = machines.search(
            dataset, tried, values_of(gammas, "--gammas"), folds, choices, messages
        )
        if model is not None:
            save(trained.model, model)
        messages.clear()
        machines.report_grid(trained, folds, picture, json)
        return
    from maxmargin.cli.kinds import linear

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


def values_of(text: str, option: str = "--Cs") -> int | list[float]:
    """``10`` as a number of values to choose, ``0.1,1`` as the values."""
    try:
        if "," not in text and text.isdigit():
            return int(text)
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text!r}: expected numbers with commas between them, or how many to try"
        ) from None
