"""Where rows come from: arrays in memory, and files of every common format.

`open` reads svmlight/LIBSVM text, CSV, Parquet and Arrow, compressed or not; `save` writes them.
"""

from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.data.dataset import Dataset
from maxmargin.data.demo import load_demo
from maxmargin.data.errors import DataError
from maxmargin.data.files import write_atomically
from maxmargin.data.reading import open
from maxmargin.data.writing import save

__all__ = [
    "ArrayRows",
    "DataError",
    "Dataset",
    "Rows",
    "load_demo",
    "open",
    "save",
    "write_atomically",
]
