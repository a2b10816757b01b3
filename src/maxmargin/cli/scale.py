"""``maxmargin scale``: features to one range each, as svm-scale does, with its files of ranges.

    scaled = lower + (upper - lower) (value - least) / (largest - least)

A file of ranges is svm-scale's: ``x``, the range of the result, then a line ``feature least
largest`` for every feature that is not constant. Features without a range are dropped, as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxmargin.cli import options, outputs
from maxmargin.cli.options import OUTPUT, Choices, Option

if TYPE_CHECKING:
    import numpy as np

LOWER = Option("-l --lower", "Least value of a feature.", float, -1.0, "L")
UPPER = Option("-u --upper", "Largest value of a feature.", float, 1.0, "U")
OPTIONS = (
    *(LOWER, UPPER),
    Option("-s --save", "Write the ranges here, for test data.", metavar="FILE", group=OUTPUT),
    Option("-r --restore", "Take the ranges from here.", metavar="FILE"),
    *(options.FORMAT, options.TARGET, options.ZERO_BASED, options.THREADS, options.FORCE),
)
EXAMPLES = (
    ("scale -l 0 -s ranges train.svm train.scaled", "to [0, 1], ranges kept"),
    ("scale -r ranges test.svm test.scaled", "test data by the same ranges"),
)


def scale(
    data: Annotated[str, typer.Argument(metavar="DATA", help=options.DATA_HELP)],
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="Where svmlight text goes; '-' is stdout.")
    ] = "-",
    *,
    choices: Choices,
) -> None:
    """Scale every feature to a range, and write the rows as svmlight text."""
    from maxmargin import data as files
    from maxmargin.cli import rows

    if choices.restore is not None and choices.typed & {"lower", "upper", "save"}:
        raise typer.BadParameter("--restore has a range already: leave out -l, -u and -s")
    if not choices.lower < choices.upper:
        raise typer.BadParameter(
            f"--lower {choices.lower:g} must be below --upper {choices.upper:g}"
        )
    written = outputs.Outputs([data, *filter(None, [choices.restore])], choices.force)
    if out != "-":
        written.check(out, outputs.data())
    if choices.save is not None:
        written.check(choices.save, outputs.ranges())
    choices.dtype = "float64"
    dataset = rows.read(data, choices)
    least, largest = extremes(dataset.X)
    target = (choices.lower, choices.upper)
    first = 1 if dataset.index_base is None else dataset.index_base
    if choices.restore is not None:
        target, least, largest = read_ranges(choices.restore, dataset.X.shape[1], first)
    if choices.save is not None:
        write_ranges(choices.save, target, least, largest, first)
    dataset.X = scaled(dataset.X, target, least, largest)
    files.save(dataset, out, format="svmlight")


def extremes(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of every feature; entries that are not stored are 0."""
    import numpy as np
    import scipy.sparse as sp

    if sp.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return np.min(X, axis=0), np.max(X, axis=0)


def scaled(X: Any, target: tuple[float, float], least: np.ndarray, largest: np.ndarray) -> Any:
    """Rows in the target range. Sparse rows stay sparse where 0 remains 0."""
    import numpy as np
    import scipy.sparse as sp

    lower, upper = target
    kept = largest > least
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(kept, (upper - lower) / (largest - least), 0.0)
    shift = np.where(kept, lower - factor * np.where(kept, least, 0.0), 0.0)
    if sp.issparse(X) and not shift.any():
        return sp.csr_matrix(X.multiply(factor[None, :]))
    whole = X.toarray() if sp.issparse(X) else np.array(X, dtype=np.float64)
    whole *= factor
    whole += shift
    return sp.csr_matrix(whole)


def write_ranges(
    path: str, target: tuple[float, float], least: np.ndarray, largest: np.ndarray, first: int
) -> None:
    from maxmargin.data import write_atomically

    lines = ["x", f"{target[0]:.16g} {target[1]:.16g}"]
    lines += [
        f"{feature} {a:.16g} {b:.16g}"
        for feature, (a, b) in enumerate(zip(least.tolist(), largest.tolist()), first)
        if a < b
    ]
    with write_atomically(path) as file:
        file.write(("\n".join(lines) + "\n").encode())


def read_ranges(
    path: str, d: int, first: int
) -> tuple[tuple[float, float], np.ndarray, np.ndarray]:
    """The target range, and the least and largest values of d features; 0 where there are none."""
    import numpy as np

    least, largest = np.zeros(d), np.zeros(d)
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    if lines[:1] != ["x"]:
        raise ValueError(f"{path}: line 1: expected 'x', as svm-scale writes it (scaled labels, "
                         "'y', are not read)")  # fmt: skip
    target = _numbers(path, 2, lines[1] if len(lines) > 1 else "", 2)
    for number, line in enumerate(lines[2:], 3):
        feature, a, b = _numbers(path, number, line, 3)
        if first <= feature < d + first:
            least[int(feature) - first], largest[int(feature) - first] = a, b
    return (target[0], target[1]), least, largest


def _numbers(path: str, line: int, text: str, count: int) -> list[float]:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise ValueError(f"{path}: line {line}: found {text!r}, expected {count} numbers")
    return numbers
