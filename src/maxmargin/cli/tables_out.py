"""Predictions as a table, CSV or Parquet: ids, labels, a column of scores per class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from maxmargin.data import write_atomically
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.formats.columns import Wanted
from maxmargin.data.formats.content import read
from maxmargin.data.formats.csv_text import CsvText

if TYPE_CHECKING:
    from maxmargin.cli.fitting import Predictions


def write_table(
    out: str, pieces: list[Predictions], model: Any, source: str, id_column: str | None
) -> None:
    """The predictions of all rows. Without a column of ids rows are numbered from 0."""
    columns: dict[str, Any] = {}
    if pieces[0].labels is not None:
        columns["label"] = pa.array(np.concatenate([piece.labels for piece in pieces]).tolist())
    if pieces[0].scores is not None:
        columns |= _scores(np.concatenate([piece.scores for piece in pieces]), model)
    if pieces[0].probabilities is not None:
        chances = np.concatenate([piece.probabilities for piece in pieces])
        names = (f"probability_{label}" for label in model.classes)
        columns |= {name: pa.array(column) for name, column in zip(names, chances.T)}
    n = len(next(iter(columns.values())))
    ids = pa.array(range(n)) if id_column is None else _ids(source, id_column, n)
    table = pa.table({id_column or "id": ids, **columns})
    with write_atomically(out) as file:
        if out.lower().endswith(".csv"):
            pa.csv.write_csv(table, file)
        else:
            pa.parquet.write_table(table, file)


def _scores(scores: np.ndarray, model: Any) -> dict[str, Any]:
    if scores.ndim == 1:
        return {"score": pa.array(scores)}
    return {f"score_{label}": pa.array(column) for label, column in zip(model.classes, scores.T)}


def _ids(source: str, column: str, n: int) -> Any:
    """A column of the table that was scored, as it is there."""
    try:
        with open(source, "rb") as file:
            parquet = file.read(4) == b"PAR1"
        if parquet:
            ids = pa.parquet.read_table(source, columns=[column]).column(column)
        else:
            text = CsvText(source, read(source), Wanted(target=False))
            ids = text.table({}, granted_cpus()).column(column)
    except (pa.ArrowException, KeyError) as error:
        raise ValueError(
            f"{source}: found no column {column!r} for --id (of a CSV or Parquet file)"
        ) from error
    if len(ids) != n:
        raise ValueError(f"{source}: {len(ids)} ids for {n} rows; expected as many")
    return ids
