"""A report: sections about a model, as a page, in a notebook, or as figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.outputs import Kind, check_output
from maxmargin.report.charts import Section
from maxmargin.report.figures import figure_of
from maxmargin.report.markup import element
from maxmargin.report.page import MARK, page
from maxmargin.report.sections import sections_of
from maxmargin.report.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEAR = 1024  # bytes from the start within which a page says who made it


@dataclass(frozen=True)
class Report:
    """What is known about a model, section by section.

    In a notebook it shows itself. `save` writes one HTML file that needs nothing else, `figures`
    gives its pictures as matplotlib figures.
    """

    title: str
    sections: Mapping[str, Section]

    def html(self) -> str:
        """The page."""
        return page(self.title, self.sections)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page. It replaces an earlier report; any other file only with `overwrite`."""
        check_output(path, REPORT_FILE, force=overwrite, override="overwrite=True")
        with write_atomically(path) as file:
            file.write(self.html().encode("utf-8"))

    def figures(self) -> dict[str, Figure]:
        """The pictures by their titles, drawn by matplotlib."""
        return {
            chart.title: figure_of(chart)
            for section in self.sections.values()
            for chart in section.charts
        }

    def _repr_html_(self) -> str:
        """The page in a frame of its own: a notebook and the page keep their styles."""
        frame = "width:100%;height:40rem;border:1px solid #8888;border-radius:6px"
        return element("iframe", srcdoc=self.html(), sandbox="", title=self.title, style=frame)


def make_report(subject: Subject) -> Report:
    """The report about a subject."""
    return Report(subject.name or f"{subject.kind} model", sections_of(subject))


def is_report(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a report that `save` wrote."""
    with open(path, "rb") as file:
        start = file.read(NEAR)
    return start.startswith(b"<!DOCTYPE html>") and f'content="{MARK}"'.encode() in start


REPORT_FILE = Kind("a report by maxmargin", is_report)
