"""Pictures into files that say who drew them."""

from __future__ import annotations

import os
from typing import Any

from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.outputs import Kind

MARK = "maxmargin"
FIELDS = {"png": "Software", "svg": "Creator", "pdf": "Creator"}  # where formats name the program
NEAR = 4096  # bytes from either end within which they do
STARTS = (b"\x89PNG", b"<?xml", b"%PDF")


def format_of(path: str | os.PathLike[str] | None) -> str | None:
    """The format that the ending of a name chooses; None where nothing is written."""
    if path is None:
        return None
    format = os.path.splitext(path)[1].lstrip(".").lower() or "png"
    if format not in FIELDS:
        raise ValueError(f"cannot draw {os.fspath(path)}: end its name in .png, .svg or .pdf")
    return format


def saved(figure: Any, path: str | os.PathLike[str] | None, format: str | None) -> Any:
    """The figure, once it is written where a path was given; files appear whole or not at all."""
    if path is not None and format is not None:
        with write_atomically(path) as file:
            figure.savefig(file, format=format, dpi=150, metadata={FIELDS[format]: MARK})
    return figure


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a picture that `save_figure` wrote."""
    with open(path, "rb") as file:
        start = file.read(NEAR)
        file.seek(max(0, os.fstat(file.fileno()).st_size - NEAR))
        return start.startswith(STARTS) and MARK.encode() in start + file.read(NEAR)


PICTURE = Kind("a picture by maxmargin", is_ours)
