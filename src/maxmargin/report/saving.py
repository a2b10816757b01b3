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


def new_figure(path: str | os.PathLike, **options: Any) -> tuple[Any, str]:
    """An empty figure, and the format that the ending of the name chooses."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing pictures needs matplotlib: pip install 'maxmargin[report]'"
        ) from error
    format = os.path.splitext(path)[1].lstrip(".").lower() or "png"
    figure = Figure(**options)
    if format not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"cannot draw {os.fspath(path)}: end its name in .png, .svg or .pdf")
    return figure, format


def save_figure(figure: Any, path: str | os.PathLike, format: str) -> None:
    """Write a picture; the file appears whole or not at all."""
    metadata = {FIELDS[format]: MARK} if format in FIELDS else None
    with write_atomically(path) as file:
        figure.savefig(file, format=format, dpi=150, metadata=metadata)


def is_ours(path: str | os.PathLike) -> bool:
    """Whether a file is a picture that `save_figure` wrote."""
    with open(path, "rb") as file:
        start = file.read(NEAR)
        file.seek(max(0, os.fstat(file.fileno()).st_size - NEAR))
        return start.startswith(STARTS) and MARK.encode() in start + file.read(NEAR)


PICTURE = Kind("a picture by maxmargin", is_ours)
