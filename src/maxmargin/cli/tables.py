"""Tables whose columns are encoded: what was done to each, and rows for models that know them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from maxmargin.cli import kinds

if TYPE_CHECKING:
    from maxmargin.cli.progress import Messages
    from maxmargin.cli.stages import Counting
    from maxmargin.data import Dataset
    from maxmargin.data.encoding.encoding import TableEncoding

MOST_SHOWN = 30  # columns
WIDEST = 24  # letters of a name


def to_encode(kind: str | None) -> Any:
    """How columns are encoded for a kind: numbers to predict may be written as people do it."""
    if kind is None or not kinds.KINDS[kind].values:
        return "auto"
    from maxmargin.data.encoding.encoding import Options

    return Options(target="number")


def say_encoding(dataset: Dataset, messages: Messages) -> None:
    """What was done to each column of a table, on stderr."""
    encoder = dataset.encoder
    if encoder is None:
        return
    numeric = all(column.kind == "number" for column in encoder.columns)
    lines = _lines(encoder)
    shown, rest = lines[:MOST_SHOWN], len(lines) - MOST_SHOWN
    widths = [max(len(line[j]) for line in shown) for j in range(3)]
    told = [
        f"  {name:<{widths[0]}}  {kind:<{widths[1]}}  {features:>{widths[2]}}  {done}".rstrip()
        for name, kind, features, done in shown
    ]
    more = [f"  ... and {rest} columns more"] if rest > 0 else []
    what = "scaled" if numeric else "encoded"
    title = f"columns of {dataset.source}, {what} (--encode none takes numbers as they are):"
    messages.say("\n".join([title, *told, *more]))


def _lines(encoder: TableEncoding) -> list[tuple[str, str, str, str]]:
    lines = [
        (_short(column.name), column.kind, _features(column.width), column.described())
        for column in encoder.columns
    ]
    return lines + [(_short(name), "left out", "", why) for name, why in encoder.left_out.items()]


def _features(width: int) -> str:
    return f"{width} feature{'s' * (width > 1)}"


def _short(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= WIDEST else name[: WIDEST - 3] + "..."


def facts(encoder: TableEncoding) -> dict[str, Any]:
    """The same for machines."""
    return {
        "columns": [
            {"name": column.name, "kind": column.kind, "features": column.width}
            for column in encoder.columns
        ],
        "left_out": dict(encoder.left_out),
        **encoder.roles,
    }


def read_for(
    encoder: TableEncoding, source: str, options: dict[str, Any], watch: Any = None
) -> Dataset:
    """Rows to score, encoded as the model does it."""
    from maxmargin.data.encoding.reading import open_for
    from maxmargin.models.labels import whole_numbers

    dataset = open_for(encoder, source, encoded=True, watch=watch, **_known(options))
    if dataset.y is not None:
        dataset.y = whole_numbers(dataset.y)
    return dataset


def pieces_for(
    encoder: TableEncoding, source: str, options: dict[str, Any], stage: Counting
) -> Iterator[Dataset]:
    """The same some rows at a time."""
    from maxmargin.data import Dataset, open_source
    from maxmargin.data.encoding.source import EncodedSource

    rows: Any = open_source(source, encode=encoder, **_known(options))
    if not isinstance(rows, EncodedSource):
        raise ValueError(
            f"{source}: has no columns, and the model was trained on those of a table: give CSV, "
            "Parquet or Arrow"
        )
    stage.total = rows.n
    for block in rows.warned():
        yield Dataset(block.X, block.y, qid=block.qid, weight=block.weight, source=rows.name)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Options that a table has a use for."""
    names = ("format", "target", "qid", "threads")
    return {name: options[name] for name in names if name in options}
