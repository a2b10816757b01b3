"""svmlight / LIBSVM text: ``label [qid:number] index:value index:value ... [# comment]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import view
from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError
from maxmargin.data.formats.content import Content
from maxmargin.data.formats.detect import BYTE_ORDER_MARK
from maxmargin.data.limits import longest_line

# Rows turned into text at a time: some megabytes.
_ENTRIES_AT_ONCE = 1 << 20


def read(
    content: Content,
    *,
    dtype: np.dtype,
    zero_based: bool | None,
    n_features: int | None,
    pool: _core.Pool,
) -> Dataset:
    """The rows of svmlight text.

    Parameters
    ----------
    zero_based : bool, optional
        Whether the first feature is number 0. None: it is if any index is 0.
    n_features : int, optional
        Columns of X. None: as many as the largest index needs.
    """
    base = None if zero_based is None else int(not zero_based)
    try:
        parts = _parsed(content, np.dtype(dtype), base, n_features, pool, longest_line())
    except _core.InvalidInput as error:
        content.check_unchanged()
        others = _other_faults(content, int(str(error).partition(":")[0]), base)
        raise DataError(f"{content.name}:{error}{others}") from None
    content.check_unchanged()
    values, indices, starts, d, labels, qid, index_base = parts
    X = sp.csr_matrix((values, indices, starts), shape=(len(labels), d), copy=False)
    X.has_canonical_format = True  # the parser has checked that the indices of a row increase
    return Dataset(X, labels, qid=qid, index_base=index_base, source=content.name)


def _parsed(content: Content, dtype: np.dtype, *options: Any) -> tuple[Any, ...]:
    begin = len(BYTE_ORDER_MARK) if content.head[:3].tobytes() == BYTE_ORDER_MARK else 0
    if content.memory is not None:
        return getattr(_core, f"read_svmlight_{dtype}")(content.memory[begin:], *options)
    with open(content.name, "rb", buffering=0) as file:
        read_file = getattr(_core, f"read_svmlight_file_{dtype}")
        return read_file(file.fileno(), begin, content.size - begin, *options)


MOST_FAULTS = 10  # that are told
SEARCHED = 1 << 26  # bytes of a file with a fault in which others are looked for


def _other_faults(content: Content, line: int, base: int | None) -> str:
    """Faults after that on a line: people mend them together."""
    memory = content.memory
    if memory is None:
        memory = np.fromfile(content.name, np.uint8, SEARCHED)
    ends = np.flatnonzero(memory[:SEARCHED] == ord("\n"))
    pool = _core.Pool(1, _core.Stop())
    found: list[str] = []
    while line <= len(ends) and len(found) < MOST_FAULTS:
        begin = ends[line - 1] + 1
        try:
            rest = memory[begin : ends[-1] + 1]
            _core.read_svmlight_float32(rest, base, None, pool, longest_line())
            break
        except _core.InvalidInput as error:
            number, _, what = str(error).partition(": ")
            line += int(number)
            found.append(f"line {line}: {what.rpartition('; ')[0]}")
    more = "; and more" if len(found) == MOST_FAULTS else ""
    return "".join(f"; also {fault}" for fault in found[: MOST_FAULTS - 1]) + more


def write(
    dataset: Dataset,
    file: IO[bytes],
    *,
    zero_based: bool,
    pool: _core.Pool,
    watch: Callable[[int], object],
) -> None:
    """Write rows as svmlight text, each number with just the digits that read back as itself.

    Zeros of dense rows are left out. Rows without labels get label 0. `watch` hears how many rows
    are written.
    """
    X = dataset.X
    n = X.shape[0]
    rows = view(X, 0.0)
    labels = np.zeros(n) if dataset.y is None else _numeric_labels(dataset.y)
    if dataset.weight is not None:
        raise DataError(
            "the rows have weights; svmlight text cannot hold them; save as CSV or Parquet"
        )
    qid = None if dataset.qid is None else np.ascontiguousarray(dataset.qid, np.int64)
    step = max(1, int(_ENTRIES_AT_ONCE / max(1.0, rows.nnz / max(n, 1))))
    for begin in range(0, n, step):
        end = min(begin + step, n)
        base = int(not zero_based)
        file.write(_core.write_svmlight(rows, labels, qid, base, begin, end, pool))
        watch(end)


def _numeric_labels(y: np.ndarray) -> np.ndarray:
    """Labels as float64, if that says the same."""
    y = np.asarray(y)
    if y.dtype.kind not in "biuf":
        raise DataError(
            f"found label {str(y[0])!r}; svmlight text needs labels that are numbers; "
            "number the classes, or save as CSV or Parquet"
        )
    labels = y.astype(np.float64)
    strange = ~np.isfinite(labels)
    if y.dtype.kind in "iu":
        strange |= np.abs(labels) > 2.0**53  # beyond, float64 skips whole numbers
    if strange.any():
        raise DataError(
            f"found label {y[strange][0]!r}; svmlight text needs finite labels that float64 can "
            "hold; change the label, or save as CSV or Parquet"
        )
    return labels
