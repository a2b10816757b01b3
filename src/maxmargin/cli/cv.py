"""``maxmargin cv``: the best C (and gamma) by cross-validation, each solution starting the next."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from maxmargin.cli import checks, fitting, kinds, options
from maxmargin.cli import report as reports
from maxmargin.cli.console import print_json, print_table, printable, warn
from maxmargin.cli.fitting import Table
from maxmargin.cli.options import Choices, Option, spelled
from maxmargin.cli.outputs import Outputs
from maxmargin.cli.progress import Messages
from maxmargin.cli.stages import Fitting, Tried

SCORING = Option(
    "--scoring", "What decides: ndcg@10, f1, roc_auc, ..., or a scorer of scikit-learn.",
    metavar="NAME", said="that of the kind",
)  # fmt: skip
WIDEN = Option(
    "--widen/--no-widen", "Go on beyond the grid while the best C is its end.", bool,
    said="where --Cs is a number",
)  # fmt: skip
TUNE = Option("--tune-threshold", "Two classes: keep the best threshold.", bool, False)
GROUP = Option(
    "--group", "Tables: column of groups that folds keep whole.", metavar="COLUMN",
    group=options.DATA,
)  # fmt: skip
ALONG_C = ("scoring", "widen", "tune_threshold")  # for kinds that search along C
OPTIONS = (
    Option("--Cs", "Values as 0.01,0.1,1 or how many to try.", metavar="LIST", default="10"),
    Option("-v --folds", "Parts to split into.", int, 5, "N", least=2),
    *(SCORING, WIDEN, TUNE, kinds.KIND, options.TOL, options.MAX_ITER, options.MAX_TIME),
    *(options.THREADS, options.FORMAT, options.TARGET, options.WEIGHT, options.DROP),
    *(GROUP, options.ENCODE, options.ZERO_BASED, options.DTYPE),
    *(options.REPORT, options.FORCE, options.QUIET, options.JSON),
    *(option for kind in kinds.KINDS.values() for option in kind.options),
)
# Train with the best C calibrates; a search has no state to go on from.
LEFT_OUT = ("gamma", "probabilities", "checkpoint", "checkpoint_every")
OPTIONS = tuple(o for o in dict.fromkeys(OPTIONS) if o.name not in LEFT_OUT)
EXAMPLES = (
    ("cv spam.svm", "ten values of C, five folds"),
    ("cv spam.svm best.model --Cs 0.01,0.1,1 -v 10", "keep the model of the best C"),
    ("cv queries.svm --kind rank --scoring ndcg@5", "folds of whole queries"),
    ("cv shuttle.svm --kind kernel --picture map.svg", "a grid of C and gamma, drawn"),
)


def cv(
    data: Annotated[str, typer.Argument(metavar="TRAIN", help=options.DATA_HELP)],
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Save a model refitted with the best C here."),
    ] = None,
    *,
    choices: Choices,
) -> None:
    """Find the C (of a kernel machine also the gamma) that is best for held-out rows."""
    from maxmargin.cli import rows, tables
    from maxmargin.models import save
    from maxmargin.models.files import MODEL_FILE

    check_choices(choices)
    machine = kinds.machine(choices.kind)
    grid = fitting.Grid(values_of(choices.Cs, "--Cs"), widths_of(choices.gammas), choices.folds)
    messages = Messages(choices.quiet)
    kernel = choices.kind == "kernel"
    unit = "folds" if choices.cells is None else "cells"
    stage = Tried("searching", unit) if kernel else Fitting(choices.tol)
    plan = machine.plan(choices, messages.callback(stage.see))
    outputs = Outputs([data], choices.force)
    if model is not None:
        outputs.check(model, MODEL_FILE)
    if choices.picture is not None:
        from maxmargin.report.saving import PICTURE

        outputs.check(choices.picture, PICTURE)
    reports.check(outputs, choices.report)
    dataset = rows.read_shown(data, choices, messages, rows.read_labelled)
    checks.before(dataset, choices, messages)
    plan = fitting.weighted(plan, dataset, choices)
    with fitting.warnings_as_messages(), messages.showing(stage):
        found = machine.search(dataset, grid, plan, choices, messages.callback(stage.tried))
    say_widened(found.facts.get("widened", []), messages)
    kept = fitting.with_columns(found.model, dataset)
    if model is not None:
        save(kept, model, overwrite=True)  # checked before the work
    name = os.path.basename(model or data)
    reported = reports.write(
        kept, dataset, choices, name=name, search=reports.search_of(found.facts)
    )
    tables.say_encoding(dataset, messages)
    if choices.picture is not None and found.draw is not None:
        found.draw(choices.picture)
    if found.warning is not None:
        warn(found.warning)
    is_cut_short = checks.status(kept.certificate, choices.tol, saved=model is not None)
    for name in ("C", "gamma", "epsilon", "k"):
        if f"best_{name}" in found.facts and not is_cut_short:  # cells have a best point each
            tried = found.facts[f"{name}s"]
            checks.edge(name, f"--{name}s", found.facts[f"best_{name}"], tried)
    if choices.json:
        print_json(found.facts | {"model": model, "picture": choices.picture})
        return
    show(found.report)
    if model is not None:
        messages.say(f"model with {found.best} in {model}{reported}")
    elif reported:
        messages.say(f"best: {found.best}{reported}")


def check_choices(choices: Choices) -> None:
    """Refuse what the kind does not take, rather than ignore it."""
    kinds.check_options(choices, shared=("seed",))  # of folds
    typed = [name for name in ALONG_C if name in choices.typed]
    if choices.kind in ("kernel", "kernel-regression") and typed:
        by, other = (
            ("errors", "sparse-kernel") if choices.kind == "kernel" else ("loss", "regression")
        )
        raise typer.BadParameter(
            f"{spelled(typed[0])}: --kind {choices.kind} searches a grid of C and gamma by its "
            f"{by}: leave it out, or take --kind {other}"
        )


def say_widened(tried: list[float], messages: Messages) -> None:
    """Values of C that nobody asked for are told."""
    if tried:
        more = ", ".join(f"{C:.4g}" for C in tried)
        messages.say(f"the best C was an end of the grid: tried {more} too (--no-widen: do not)")


def show(report: Table | str) -> None:
    """What was found, for people."""
    if isinstance(report, str):
        typer.echo(printable(report))
    else:
        print_table(report.title, report.columns, report.rows)


def widths_of(text: str) -> int | str | list[float]:
    """Values of gamma, how many, or ``auto``."""
    return text if text == "auto" else values_of(text, "--gammas")


def values_of(text: str, option: str) -> int | list[float]:
    """``10`` as a number of values to choose, ``0.1,1`` as the values, ``10,`` as one value."""
    try:
        if "," not in text and text.isdigit():
            return int(text)
        return [float(word) for word in text.removesuffix(",").split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"{option} {text!r}: expected numbers with commas between them, or how many to try"
        ) from None
