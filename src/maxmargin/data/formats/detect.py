"""A first look at text, to tell its format."""

from __future__ import annotations

from maxmargin.data.formats.content import Content

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some programs begin a file with it; it says nothing


def first_lines(content: Content, count: int) -> list[str]:
    """The first lines that are not blank, among the first 256 KB, for a look at the format."""
    start = content.head.tobytes().removeprefix(BYTE_ORDER_MARK)
    lines = start.decode("utf-8", "replace").split("\n")
    if len(content.head) < content.size and len(lines) > 1:
        lines.pop()  # it may be cut
    return [line for line in lines if line.strip()][:count]


def lines_before(content: Content) -> int:
    """How many empty lines there are before the first other one."""
    start = content.head.tobytes().removeprefix(BYTE_ORDER_MARK)
    return start[: len(start) - len(start.lstrip(b"\r\n"))].count(b"\n")


def delimiter_of(line: str) -> str | None:
    """The delimiter that cuts a line into most fields, if any does.

    A bar after a blank begins a namespace of Vowpal Wabbit, and is none.
    """
    best = max(",;\t", key=line.count)
    if best in line:
        return best
    return "|" if "|" in line and " |" not in line else None
