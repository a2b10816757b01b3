"""Queries given beside a file: LightGBM's ``FILE.query``, XGBoost's ``FILE.group``.

One number a line: how many rows the next query has.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.data.dataset import Dataset
from maxmargin.data.errors import DataError

ENDINGS = (".query", ".group")
LONGEST_LINE = 64  # bytes, of which a number takes 18
SIZE = re.compile(rb"\s*([0-9]{1,18})\s*")


def side_file(path: str) -> str | None:
    """The file that tells the queries of another, if there is one."""
    return next((path + end for end in ENDINGS if os.path.isfile(path + end)), None)


def read_queries(path: str, n: int) -> np.ndarray | None:
    """The query of each of n rows of a file; None if no file beside it tells them."""
    side = side_file(path)
    if side is None:
        return None
    sizes, total = [], 0
    with open(side, "rb") as file:
        lines = iter(lambda: file.readline(LONGEST_LINE), b"")
        for number, line in enumerate(lines, 1):
            size = SIZE.fullmatch(line)
            if size is None or not int(size[1]):
                if not line.strip():
                    continue
                found = line.strip()[:20].decode(errors="replace")
                raise DataError(
                    f"{side}:{number}: found {found!r}; expected how many rows the next query has, "
                    "1 or more"
                )
            sizes.append(int(size[1]))
            total += sizes[-1]
            if total > n:  # however long the file is
                break
    if total != n:
        more = " or more" if total > n else ""
        raise DataError(
            f"{side}: its queries have {total} rows{more} together; expected {n}, as {path} has; "
            "make it again, or move it away"
        )
    return np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)


def with_queries(dataset: Dataset, source: Any) -> Dataset:
    """Rows with the queries given beside their file, where they have none of their own."""
    named = isinstance(source, str | os.PathLike) and os.fspath(source) != "-"
    if named and dataset.qid is None:
        dataset.qid = read_queries(os.fsdecode(source), dataset.X.shape[0])
    return dataset


def add_queries(paths: list[str], sources: list[Any]) -> None:
    """The same for sources of blocks; queries of different files are different."""
    first = 0
    for path, source in zip(paths, sources, strict=True):
        qid = read_queries(path, source.n)
        if qid is not None:
            _add_queries(source, first + qid)
            first += int(qid[-1]) + 1


def _add_queries(source: Any, qid: np.ndarray) -> None:
    blocks = source.blocks

    def blocks_with_queries() -> Iterator[Any]:
        for block in blocks():
            own = qid[block.first : block.first + block.n]
            yield block if block.qid is not None else replace(block, qid=own)

    source.blocks = blocks_with_queries
