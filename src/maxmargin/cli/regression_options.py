"""Options of losses, and of the kinds that predict numbers, and how lists of numbers are read."""

from __future__ import annotations

from collections.abc import Callable

import typer

from maxmargin.cli.options import Option
from maxmargin.losses.table import LOSSES


def numbers(option: str) -> Callable[[str], list[float]]:
    """Reads values with commas."""

    def read(text: str) -> list[float]:
        try:
            return [float(word) for word in text.removesuffix(",").split(",")]
        except ValueError:
            raise typer.BadParameter(f"{option} is {text!r}; expected numbers, as 0.1,1") from None

    return read


def levels(text: str) -> float | list[float]:
    """One quantile, or several with commas."""
    try:
        known = [float(level) for level in text.split(",")]
    except ValueError:
        raise typer.BadParameter(
            f"--quantile is {text!r}; expected numbers between 0 and 1, as 0.1,0.5,0.9"
        ) from None
    return known[0] if len(known) == 1 else known


LOSS = Option(
    "--loss",
    "What is minimised:",
    choices=tuple(LOSSES),
    said="hinge; of real values epsilon_insensitive",
)  # fmt: skip
REGRESSION = (
    Option("--epsilon", "Residuals up to here cost nothing.", float, metavar="X", said="0"),
    Option(
        "--quantile",
        "Which quantile or expectile; several with commas.",
        metavar="LIST",
        said="0.5",
        read=levels,
    ),
    Option("--delta", "Where the Huber loss becomes linear.", float, metavar="X", said="1"),
    Option("--non-crossing", "Sort the quantiles of each row.", bool, False),
)
EPSILONS = Option("--epsilons", "Values to try.", metavar="LIST", read=numbers("--epsilons"))
