"""A first look at text, to tell its format."""

from __future__ import annotations

from maxmargin.data.files import Content


def first_lines(content: Content, count: int) -> list[str]:
    """The first lines that are not blank, among the first 256 KB, for a look at the format."""
    start = content.bytes[: 1 << 18].tobytes().removeprefix(b"\xef\xbb\xbf")
    lines = start.decode("utf-8", "replace").split("\n")
    if len(start) < len(content.bytes) and len(lines) > 1:
        lines.pop()  # it may be cut
    return [line for line in lines if line.strip()][:count]


def delimiter_of(line: str) -> str | None:
    """The delimiter that cuts a line into most fields, if any does."""
    best = max(",;\t", key=line.count)
    return best if best in line else None
