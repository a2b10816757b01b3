"""``maxmargin report``, and the --report of `train` and `cv`: a model as one page of HTML."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import options
from maxmargin.cli.model_files import loaded
from maxmargin.cli.options import Choices, Option
from maxmargin.cli.outputs import Outputs
from maxmargin.cli.progress import Messages

if TYPE_CHECKING:
    from maxmargin.data import Dataset
    from maxmargin.report import Search

OPTIONS = (
    Option(
        "-o --output", "Default: the name of MODEL with .html.", metavar="FILE",
        group=options.OUTPUT,
    ),
    *(options.THREADS, options.FORMAT, options.TARGET, options.QID, options.TEXT),
    *(options.ZERO_BASED, options.DTYPE, options.FORCE, options.QUIET),
)  # fmt: skip
AXES = ("gamma", "epsilon", "k")  # what a search may vary beside C
EXAMPLES = (("report spam.model test.svm -o report.html", "one page that loads nothing"),)


def report(
    model: Annotated[str, typer.Argument(metavar="MODEL", help=options.MODEL_HELP)],
    data: Annotated[
        str | None, typer.Argument(metavar="TEST", help=options.DATA_HELP, show_default=False)
    ] = None,
    *,
    choices: Choices,
) -> None:
    """Write a page about a model: its certificate, its weights and, with TEST, how good it is.

    The page is one HTML file that loads nothing from anywhere.
    """
    from maxmargin.cli import rows
    from maxmargin.report import Subject, make_report
    from maxmargin.report.judging import judged

    name, messages = os.path.basename(model), Messages(choices.quiet)
    path = choices.output or name + ".html"
    check(Outputs([model] if data is None else [model, data], choices.force), path)
    kept = loaded(model, data, "report MODEL [TEST]")
    if data is None:
        subject = Subject(kept, name=name)
    else:
        dataset = rows.read_for_shown(kept, data, choices, messages)
        subject = judged(rows.bare(kept), dataset, choices.threads, name=name)
    make_report(subject).save(path, overwrite=True)  # checked before the work
    messages.say(f"report in {path}")


def check(outputs: Outputs, path: str | None) -> None:
    """Refuse a place where a report cannot go; None is no report."""
    if path is not None:
        from maxmargin.report.report import REPORT_FILE

        outputs.check(path, REPORT_FILE)


def write(model: Any, dataset: Dataset | None, choices: Choices, **about: Any) -> str:
    """Write the page about a model that was just trained, on the rows it was trained on.

    `dataset` is None for rows on a cluster; `about` are fields of a `Subject`. Returns what is
    added to the message of the command.
    """
    if choices.report is None:
        return ""
    from maxmargin.report import Subject, make_report
    from maxmargin.report.judging import judged

    if dataset is None:
        subject = Subject(model, **about)
    else:
        model = replace(model, encoder=None)  # the rows it was trained on are encoded already
        subject = judged(model, dataset, choices.threads, trained_on=True, **about)
    make_report(subject).save(choices.report, overwrite=True)  # checked before the work
    return f"; report in {choices.report}"


def search_of(facts: dict[str, Any]) -> Search | None:
    """What `cv` tried, from the facts that it prints; cells have a grid each, and no common one."""
    import numpy as np

    from maxmargin.report import Search
    from maxmargin.report.subject import search_by

    if "cells" in facts:
        return None
    if "scores" in facts:
        axis = next((name for name in AXES if f"{name}s" in facts), None)
        values = None if axis is None else facts[f"{axis}s"]
        return search_by(facts["scoring"], facts["Cs"], facts["scores"], values, axis or "gamma")
    measure = "error" if "errors" in facts else "loss"
    tried = facts["errors" if "errors" in facts else "losses"]
    Cs, gammas, error = (
        np.asarray(v, dtype=np.float64) for v in (facts["Cs"], facts["gammas"], tried)
    )
    return Search(Cs, error, gammas, measure)
