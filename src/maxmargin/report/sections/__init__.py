"""The sections of a report: functions of a `Subject`, each None where it has nothing to say.

A new kind of model adds a function to `SECTIONS`; nothing else needs to know of it.
"""

from __future__ import annotations

from collections.abc import Callable

from maxmargin.report.charts import Section
from maxmargin.report.sections import (
    classes,
    data,
    kernels,
    labels,
    ranking,
    regression,
    search,
    training,
    weights,
)
from maxmargin.report.subject import Subject

SECTIONS: dict[str, Callable[[Subject], Section | None]] = {
    "summary": classes.summary,
    "labels": labels.labels,
    "ranking": ranking.ranking,
    "regression": regression.regression,
    "machine": training.machine,
    "certificate": training.certificate,
    "convergence": training.convergence,
    "data": data.data,
    "search": search.search,
    "confusion": classes.confusion,
    "curves": classes.operating_curves,
    "scores": classes.score_spread,
    "weights": weights.weights,
    "vectors": kernels.vectors,
    "cells": kernels.cells,
}


def sections_of(subject: Subject) -> dict[str, Section]:
    """All that can be said about a subject, in the order of a page."""
    made = {name: make(subject) for name, make in SECTIONS.items()}
    return {name: section for name, section in made.items() if section is not None}


__all__ = ["SECTIONS", "sections_of"]
