"""Tables with a column of every kind, and models that know how to encode them."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from maxmargin import data
from maxmargin.data.encoding.encoding import Options, TableEncoding, batches_of, fit


def a_mixed_table() -> pa.Table:
    """A column of every kind that encoders know."""
    days = ["2020-01-31", "31.12.2020", "2021-06-01 10:30"]
    return pa.table(
        {
            "label": ["yes", "no"] * 12,
            "age": [20.5, None, 31.0, -4.0] * 6,
            "city": pa.array(["Rome", "Oslo", None, "Bonn"] * 6).dictionary_encode(),
            "joined": days * 8,
            "member": [True, False, None] * 8,
            "price": ["1.234,50", "12,5", "€ 7,00", "-3,5 %"] * 6,
            "sum": ["$1,234.50", "-12.5", "7", "1,000,000"] * 6,
            "remark": [f"call number {i} was long, and it went well" for i in range(24)],
        }
    )


def mixed_csv(folder: Path) -> list[bytes]:
    frame = a_mixed_table().to_pandas()
    return [
        frame.to_csv(index=False).encode(),
        frame.to_csv(index=False, sep=";").encode("utf-16"),
        frame.to_csv(index=False, sep="\t", decimal=",").encode("latin-1", "replace"),
        frame.to_csv(sep="|").encode(),  # row names, whose column has no name
    ]


def mixed_parquet(folder: Path) -> list[bytes]:
    found = []
    for options in ({"compression": "none"}, {"compression": "zstd", "row_group_size": 7}):
        pa.parquet.write_table(a_mixed_table(), folder / "seed", **options)
        found.append((folder / "seed").read_bytes())
    return found


@functools.cache
def encoding() -> TableEncoding:
    """What the columns of the table became when they were as they should be."""
    names = [name for name in a_mixed_table().column_names if name != "label"]
    return fit(names, lambda: batches_of(a_mixed_table()), Options())


def use_encoded(path: Path) -> None:
    """Every way to encode a file: by its own rows, or as other rows were, whole or in blocks."""
    refused = []
    for encode, read in itertools.product(("auto", encoding()), (data.open, drained)):
        try:
            read(path, encode=encode)
        except (ValueError, OSError) as error:
            refused.append(error)
    if refused:
        raise refused[0]


def drained(path: Path, **options: Any) -> None:
    for block in data.open_source(path, **options).blocks():
        assert block.y is None or len(block.y) == block.X.shape[0]


def encoded_models(folder: Path) -> list[bytes]:
    """Models that know how the columns of their tables become numbers."""
    a_mixed_table().to_pandas().to_csv(folder / "seed.csv", index=False)
    found = []
    for kind in ("linear", "kernel", "stream"):
        train(["train", str(folder / "seed.csv"), str(folder / kind), "--kind", kind, "-q"])
        found.append((folder / kind).read_bytes())
    return found


def train(arguments: list[str]) -> None:
    from typer.testing import CliRunner

    from maxmargin.cli.main import app

    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
