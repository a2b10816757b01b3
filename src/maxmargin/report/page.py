"""Sections as one page of HTML: no scripts, no requests, legible on paper and on a phone."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from maxmargin.report.charts import Chart, HeatMap, Section, Table
from maxmargin.report.markup import Markup, element, empty, label
from maxmargin.report.svg import draw, legend

MARK = "maxmargin report"
# Even if a text were to slip through as markup, the browser would load and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(title: str, sections: Mapping[str, Section], language: str = "en") -> str:
    """A whole document."""
    head = element(
        "head",
        empty("meta", charset="utf-8"),
        empty("meta", http_equiv="Content-Security-Policy", content=POLICY),
        empty("meta", name="viewport", content="width=device-width, initial-scale=1"),
        empty("meta", name="color-scheme", content="light dark"),
        empty("meta", name="generator", content=MARK),
        element("title", title),
        element("style", Markup(style())),
    )
    main = element("main", *(render(name, section) for name, section in sections.items()))
    skip = element(
        "a", "Skip to the first section", href="#" + next(iter(sections), ""), class_="skip"
    )
    body = element("body", skip, element("header", element("h1", title), contents(sections)), main)
    return f"<!DOCTYPE html>\n{element('html', head, body, lang=language)}\n"


def style() -> str:
    """The style sheet."""
    return resources.files("maxmargin.report").joinpath("style.css").read_text(encoding="utf-8")


def contents(sections: Mapping[str, Section]) -> Markup:
    """Links to the sections."""
    links = [
        element("li", element("a", section.title, href=f"#{name}"))
        for name, section in sections.items()
    ]
    return element("nav", element("ul", *links), aria_label="Contents")


def render(name: str, section: Section) -> Markup:
    """A section: words first, then pictures with their numbers, then tables."""
    parts = words(section)
    figures = [render_chart(chart, f"{name}-{k}") for k, chart in enumerate(section.charts)]
    if figures:
        parts.append(element("div", *figures, class_="figures"))
    parts += [render_table(table) for table in section.tables]
    return element("section", element("h2", section.title), *parts, id=name)


def words(section: Section) -> list[Markup]:
    """What a section says."""
    parts = [element("p", text) for text in section.text]
    return parts + [element("p", text, class_="warning", role="note") for text in section.warnings]


def render_chart(chart: Chart | HeatMap, id: str) -> Markup:
    """A picture, its title, and its numbers for those who would rather read them."""
    caption = element("figcaption", chart.title)
    numbers = Markup("")
    if chart.table is not None:
        numbers = element("details", element("summary", "Numbers"), render_table(chart.table))
    return element("figure", caption, legend(chart), draw(chart, id), numbers)


def render_table(table: Table) -> Markup:
    """A table that scrolls by itself where the page is narrow."""
    head = element("tr", *(element("th", label(name), scope="col") for name in table.columns))
    rows = [
        element(
            "tr",
            element("th", label(row[0]), scope="row"),
            *(element("td", label(cell)) for cell in row[1:]),
        )
        for row in table.rows
    ]
    drawn = element(
        "table", element("caption", table.title), element("thead", head), element("tbody", *rows)
    )
    return element(
        "div", drawn, class_="scroll", tabindex="0", role="region", aria_label=table.title
    )
