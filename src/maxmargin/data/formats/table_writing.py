"""Tables out of rows: CSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import scipy.sparse as sp

from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats.columns import QID_NAME, WEIGHT_NAME

_WIDEST_SPARSE = 10_000


def write_csv(dataset: Dataset, file: IO[bytes], watch: Callable[[int], object]) -> None:
    """Write rows as CSV: a line of names, the label first, numbers that read back as themselves."""
    _write(pa.csv.CSVWriter, dataset, file, watch)


def write_parquet(dataset: Dataset, file: IO[bytes], watch: Callable[[int], object]) -> None:
    """Write rows as Parquet: the label first, then one column per feature."""
    _write(pa.parquet.ParquetWriter, dataset, file, watch)


def _write(
    new_writer: Any, dataset: Dataset, file: IO[bytes], watch: Callable[[int], object]
) -> None:
    writer = None
    for batch in _batches(dataset, watch):
        if writer is None:
            writer = new_writer(file, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def _batches(dataset: Dataset, watch: Callable[[int], object]) -> Iterable[pa.RecordBatch]:
    """Rows as record batches; `watch` hears how many are written."""
    X: Any = dataset.X
    n, d = X.shape
    if sp.issparse(X) and d > _WIDEST_SPARSE:
        raise DataError(
            f"X is sparse with {d} columns; CSV and Parquet would hold every zero of at most "
            f"{_WIDEST_SPARSE}; save as svmlight"
        )
    names, columns = _named_columns(dataset)
    rows = max(1, min(1 << 16, (1 << 24) // max(d, 1)))
    for begin in range(0, max(n, 1), rows):
        part = X[begin : begin + rows]
        block = part.toarray() if sp.issparse(part) else part
        sides = {name: pa.array(values[begin : begin + rows]) for name, values in columns.items()}
        label = [sides.pop("label")] if "label" in sides else []
        features = [pa.array(np.ascontiguousarray(block[:, j])) for j in range(d)]
        yield pa.RecordBatch.from_arrays([*label, *features, *sides.values()], names=names)
        watch(begin + part.shape[0])


def _named_columns(dataset: Dataset) -> tuple[list[str], dict[str, np.ndarray]]:
    """Names of all columns in order, and the columns that are not features."""
    columns = {}
    if dataset.y is not None:
        columns["label"] = np.asarray(dataset.y)
    if dataset.qid is not None:
        columns[QID_NAME] = np.asarray(dataset.qid)
    if dataset.weight is not None:
        columns[WEIGHT_NAME] = np.asarray(dataset.weight)
    d = dataset.X.shape[1]
    features = dataset.feature_names or [f"x{j + 1}" for j in range(d)]
    for name in columns:
        if name in features:
            raise DataError(
                f"found a feature named {name!r}, the name of the column for "
                f"{'labels' if name == 'label' else name}; rename the feature"
            )
    first = ["label"] if "label" in columns else []
    return [*first, *features, *(c for c in columns if c != "label")], columns
