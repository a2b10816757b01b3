"""What pictures in SVG share: their size, their texts, their coordinates."""

from __future__ import annotations

from typing import Any

from maxmargin.report.markup import Markup, element, label

WIDTH, HEIGHT = 440, 280  # in the units of the picture, which scales to its place
LEFT, RIGHT, TOP, BOTTOM = 60, 14, 12, 44
LETTER = 6.6  # mean width of a character of 12 units


def picture(id: str, title: str, alt: str, width: float, height: float, parts: list[Any]) -> Markup:
    return element(
        "svg",
        element("title", title, id=f"{id}-title"),
        element("desc", alt, id=f"{id}-desc"),
        *parts,
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        role="img",
        aria_labelledby=f"{id}-title {id}-desc",
        xmlns="http://www.w3.org/2000/svg",
    )


def text_at(x: float, y: float, text: str, anchor: str, class_: str | None = None) -> Markup:
    return element(
        "text", text, x=coordinate(x), y=coordinate(y), text_anchor=anchor, class_=class_
    )


def cut(text: str, room: float) -> str:
    """As much of a text as there is room for."""
    text, letters = label(text), max(4, int(room / LETTER))
    return text if len(text) <= letters else text[: letters - 1] + "…"


def coordinate(value: float) -> str:
    """A coordinate: two digits are finer than a pixel."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
