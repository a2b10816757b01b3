"""Where rows come from: arrays in memory, and files of every common format.

`open` reads svmlight/LIBSVM text, CSV, Parquet and Arrow, compressed or not; `save` writes them.
`open_source` reads the same, and strings in FASTA files, block by block, `open_two_classes` two
files of a class each; `write_store` turns them into a row store, which is read at disk speed again
and again.
"""

from typing import Any

from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.dataset import Dataset
from maxmargin.data.demo import load_demo
from maxmargin.data.errors import DataError
from maxmargin.data.formats.reading import open
from maxmargin.data.formats.writing import save
from maxmargin.data.stream.array_source import ArraySource
from maxmargin.data.stream.blocks import Block, BlockSource, Strings
from maxmargin.data.stream.sources import open_source, open_two_classes

__all__ = [
    "ArrayRows",
    "ArraySource",
    "Block",
    "BlockSource",
    "DataError",
    "Dataset",
    "Rows",
    "Strings",
    "TableEncoder",
    "load_demo",
    "open",
    "open_source",
    "open_two_classes",
    "save",
    "write_atomically",
    "write_store",
]


def __getattr__(name: str) -> Any:
    """What needs pyarrow or scikit-learn, which are slow to import: only those who use it wait."""
    if name == "TableEncoder":
        from maxmargin.data.encoding.transformer import TableEncoder

        return TableEncoder
    if name == "write_store":
        from maxmargin.data.store.writing import write_store

        return write_store
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
