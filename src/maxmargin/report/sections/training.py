"""What was trained, how good the answer is, and how it was reached."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.models.mapped import SUFFIX
from maxmargin.problem import Certificate, Progress, Status
from maxmargin.report.charts import Axis, Chart, Section, Series, Table, line, rule
from maxmargin.report.runs import gap, runs
from maxmargin.report.sections.words import counted, number, plain
from maxmargin.report.subject import Subject

MOST_PROBLEMS = 30  # certificates that are listed
MOST_LINES = 6  # problems that are drawn

KINDS = {
    "linear": "A linear classifier",
    "multi-label": "A linear classifier for each of several labels, of which a row may have any,",
    "measure": "A linear classifier trained for the measure {measure}",
    "stream": "A linear classifier trained on a stream of rows",
    "stream-regression": "A linear regression trained on a stream of rows",
    "rank": "A linear ranking",
    "ordinal": "A linear score with thresholds between ordered labels",
    "kernel": "A kernel classifier",
    "kernel-cells": "Kernel classifiers, one for each cell of the space,",
    "kernel-regression": "A kernel regression",
    "kernel-regression-cells": "Kernel regressions, one for each cell of the space,",
    "regression": "A linear regression",
    "sparse-kernel": "A kernel classifier on a budget of basis vectors",
    "sparse-kernel-regression": "A kernel regression on a budget of basis vectors",
    "sparse-kernel-rank": "A kernel ranking on a budget of basis vectors",
    "sparse-kernel-ordinal": "A kernel score on a budget of basis vectors, with thresholds between "
    "ordered labels,",
}


def machine(subject: Subject) -> Section:
    """The kind of model, its solver and its parameters."""
    model = subject.model
    what = KINDS.get(subject.kind.removesuffix(SUFFIX), f"A model of the kind {subject.kind}")
    what = what.format(measure=model.parameters.get("measure", "a measure of all labels"))
    made = ", made of the rows in every pass," if subject.kind.endswith(SUFFIX) else ""
    facts = [["kind", subject.kind]]  # the sentence says which solver there was in the end
    names = subject.class_names
    if names:
        several = subject.task == "labels"
        shown = ", ".join(names[:12]) + (f", ... ({number(len(names))})" if names[12:] else "")
        facts.append(["labels of a row" if several else "classes", shown])
    # What a search chose and what "scale" came to, the model knows.
    parameters = {**(subject.parameters or {}), **model.parameters}
    facts += [
        [name, plain(value)] for name, value in sorted(parameters.items()) if value is not None
    ]
    features = counted(model.coef.shape[1] if made else model.n_features, "feature")
    text = f"{what} on {features}{made or ','} found by the solver {model.solver!r}."
    return Section(
        "What was trained", [text], tables=[Table("Parameters", ["name", "value"], facts)]
    )


def certificate(subject: Subject) -> Section:
    """The certificate in words, and the numbers of every problem."""
    found = subject.model.certificate
    if found is None:
        return Section(
            "Certificate",
            [
                "This model came without a certificate: nothing is known about how good its "
                "answer is."
            ],
        )
    text = [f"{str(found)[0].upper()}{str(found)[1:]}."]
    text += [*_of_several(found, subject.model.certificates), _meaning(found)]
    warnings = [] if found.status in (Status.OPTIMAL, Status.RULE_MET) else [_advice(found)]
    problems = list(subject.model.certificates)[:MOST_PROBLEMS]
    names = _problem_names(subject, len(problems))
    rows = [
        [
            name,
            f"{c.primal:.8g}",
            f"{c.dual:.8g}",
            f"{c.relative_gap:.2e}",
            str(c.status),
            number(c.n_iter),
            f"{c.seconds:.3g}",
        ]
        for name, c in zip(names, problems)
    ]
    columns = ["problem", "primal", "dual", "relative gap", "status", "iterations", "seconds"]
    left = len(subject.model.certificates) - len(problems)
    title = "Bounds of each problem" + (f" (the first {len(problems)})" if left else "")
    return Section("Certificate", text, tables=[Table(title, columns, rows)], warnings=warnings)


def _of_several(found: Certificate, problems: Sequence[Certificate]) -> list[str]:
    """What the certificate of a model is to those of its problems."""
    if len(problems) < 2:
        return []
    said = f"The model is the answer to {number(len(problems))} problems with bounds of their own"
    if any(found is one for one in problems):
        return [f"{said}. This is the one that ended furthest from its optimum."]
    return [f"{said}; these are their sums."]


def _meaning(certificate: Certificate) -> str:
    if not certificate.has_bound:
        return "No lower bound of use was found, so that the best possible objective is not known."
    spans = certificate.best != Certificate.best
    which = "on these basis vectors" if spans else "of this kind"
    return (
        f"The objective, which training makes small, is {certificate.primal:.8g}. No model "
        f"{which}, with these parameters and trained on these rows, has an objective below "
        f"{certificate.dual:.8g}. Both numbers are sums over all rows of the training, computed "
        "in float64 when it had ended."
    )


def _advice(certificate: Certificate) -> str:
    asked = "" if certificate.tol is None else f" ({certificate.tol:g} was asked for)"
    return (
        f"The run ended before the tolerance was reached: its relative gap is "
        f"{certificate.relative_gap:.2g}{asked}. Allow more iterations or time, or scale the "
        "features."
    )


def _problem_names(subject: Subject, n: int) -> list[str]:
    names = subject.class_names
    if n == 1:
        return ["all rows"]
    if getattr(subject.model, "multi_class", "ovr") == "ovo":
        pairs = list(combinations(names, 2))
        if len(pairs) == n:
            return [f"{first} against {second}" for first, second in pairs]
    elif len(names) == n:
        several = subject.task == "labels"
        return [f"label {name}" if several else f"{name} against the rest" for name in names]
    if hasattr(subject.model, "cells") and len(subject.model.cells) == n:
        return [f"cell {k + 1}" for k in range(n)]
    levels = subject.level_names(n)
    if levels is not None:
        return levels
    return [f"problem {k + 1}" for k in range(n)]


def convergence(subject: Subject) -> Section | None:
    """How primal and dual approached each other."""
    if not subject.history:
        return Section(
            "Convergence",
            [
                "The course of the run is not kept in model files; a report made when a "
                "model is trained shows it."
            ],
        )
    if hasattr(subject.model, "cells"):  # its moments are cells that were done
        return Section(
            "Convergence",
            ["Each cell is a problem of its own; their bounds are listed with the certificate."],
        )
    parts = sorted(runs(subject.history), key=lambda part: -gap(part[-1]))
    shown = parts[:MOST_LINES]
    steps = max(part[-1].iteration for part in parts)
    seconds = max(part[-1].seconds for part in parts)
    effort = f"{counted(steps, 'iteration')} and {seconds:.3g} seconds"
    alone = len(parts) == 1
    text = [f"{effort}." if alone else f"{len(parts)} problems, at most {effort} each."]
    if all(len(part) == 1 for part in parts):
        text.append("Only the end of the run was recorded.")
        return Section("Convergence", text, tables=[_moments([part[0] for part in shown])])
    if len(parts) > len(shown):
        text.append(f"The {len(shown)} that ended furthest from their optimum are drawn.")
    names = _names(subject, shown)
    charts = [_bounds_chart(shown[0], names[0]), _gap_chart(shown, names, _tolerance(subject))]
    return Section("Convergence", text, charts)


def _names(subject: Subject, parts: list[list[Progress]]) -> list[str]:
    """What each part is a run of; one alone needs no name."""
    if len(parts) == 1:
        return [""]
    numbers = [part[0].problem for part in parts]
    if len(set(numbers)) < len(numbers):
        return [f"problem {k + 1}" for k in range(len(parts))]
    names = _problem_names(subject, parts[0][0].problems)
    return [names[k] for k in numbers]


def _tolerance(subject: Subject) -> float | None:
    certificate = subject.model.certificate
    return None if certificate is None else certificate.tol


def _bounds_chart(part: Any, name: str) -> Chart:
    seconds = np.array([p.seconds for p in part])
    primal, dual = np.array([p.primal for p in part]), np.array([p.dual for p in part])
    first = max(0, int(np.searchsorted(-primal, -4 * max(primal[-1], 1e-300))))
    low = max(float(dual.min()), float(dual[-1] - 3 * abs(primal[-1]))) if part else 0.0
    high = float(min(primal.max(), max(4 * primal[-1], primal[-1] + 1e-12)))
    limits = (low, high) if high > low else None
    band = Series("area", seconds, primal, "", 5, base=dual)
    best = f"It ends at {primal[-1]:.6g} with the bound at {dual[-1]:.6g}."
    return Chart(
        "Objective and bound" + (f", {name}" if name else ""),
        "The objective of the best model falls over time and the bound that no model can go "
        "below rises. " + best,
        _seconds([part]),
        Axis("objective", limits=limits),
        [
            band,
            line(seconds, primal, "primal (this model)", 0),
            line(seconds, dual, "dual (no model is below)", 1),
        ],
        _moments(part[min(first, len(part) - 1) :] or part),
    )


def _gap_chart(parts: Any, names: list[str], tol: float | None) -> Chart:
    series = [
        line(
            [p.seconds for p in part],
            [gap(p) for p in part],
            name,
            2 + k,
        )
        for k, (part, name) in enumerate(zip(parts, names))
    ]
    if tol:
        series.append(rule(tol, f"tolerance {tol:g}"))
    last = max(gap(part[-1]) for part in parts)
    return Chart(
        "Relative gap",
        f"The relative duality gap on a logarithmic scale falls over time and ends at {last:.2g}.",
        _seconds(parts),
        Axis("relative gap", log=True),
        series,
        _moments(parts[0]),
    )


def _seconds(parts: Any) -> Axis:
    """Time since the start of a run."""
    last = max(part[-1].seconds for part in parts)
    return Axis("seconds", limits=(0.0, last) if last > 0 else None)


def _moments(part: Any, most: int = 12) -> Table:
    kept = sorted({round(k) for k in np.linspace(0, len(part) - 1, min(most, len(part)))})
    rows = [
        [
            number(p.iteration),
            f"{p.seconds:.3g}",
            f"{p.primal:.6g}",
            f"{p.dual:.6g}",
            f"{gap(p):.2e}",
        ]
        for p in (part[k] for k in kept)
    ]
    return Table(
        "Moments of the run", ["iteration", "seconds", "primal", "dual", "relative gap"], rows
    )
