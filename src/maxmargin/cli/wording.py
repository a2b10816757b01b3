"""Sentences of the library as a shell says them: parameters become the options they are."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import typer.main

from maxmargin.cli.options import OTHER_NAMES, spelled

_VALUE = r"""('[^']*'|"[^"]*"|\.\.\.|[^\s,;:()]*)"""
_PYTHON = {  # what a shell says altogether differently
    "(StreamSVC, features=...)": "(--kind stream --features MAP)",
    " (write_store(..., compression=...))": "",
    "rename it or say the format (format=...)": "rename it",
    "fit_intercept and intercept_scaling": "--bias",
    "target=False": "--target none",
}


def for_shell(text: str) -> str:
    """The sentence with `max_iter=5` as `--max-iter 5`, and `max_iter` as `--max-iter`."""
    for said, instead in _PYTHON.items():
        text = text.replace(said, instead)
    text = re.sub(r"\bsample_weight\[(\d+)\]", _row_weight, text)
    assigned, alone = _patterns()
    return alone.sub(lambda found: spelled(found[0]), assigned.sub(_typed, text))


def _row_weight(found: re.Match[str]) -> str:
    return f"the weight of row {int(found[1]) + 1}"


def _typed(found: re.Match[str]) -> str:
    """An option with its value; one that is only switched on, or of any value, has none."""
    value = found[2].strip("'\"")
    return spelled(found[1]) + ("" if value in ("", "...", "True") else f" {value}")


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Parameters with a value, and alone; these only where no word of English is spelled so."""
    from maxmargin.cli.main import app

    commands: Any = typer.main.get_command(app)
    options = (option for command in commands.commands.values() for option in command.options)
    names = {option.name for option in options} | OTHER_NAMES.keys()
    every = "|".join(sorted(names))
    long = "|".join(sorted(name for name in names if "_" in name))
    return (
        re.compile(rf"(?<![-\w.])({every})={_VALUE}"),
        re.compile(rf"(?<![-\w./'\"])({long})(?![-\w'\"]|\.\w)"),
    )
