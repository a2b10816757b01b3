"""``maxmargin convert``: data from one format and compression to another."""

from __future__ import annotations

from typing import Annotated

import typer

from maxmargin.cli import options


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help=options.DATA_HELP)],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Its ending chooses: .svm .csv .parquet, then .gz .bz2 .xz .zst."
        ),
    ],
    format: options.DataFormat = None,
    to: Annotated[
        options.Format | None, typer.Option("--to", help="Format of OUT, whatever its ending.")
    ] = None,
    target: options.Target = None,
    qid: options.Query = None,
    zero_based: options.ZeroBased = None,
    dtype: options.Numbers = "float64",
    threads: options.Threads = None,
) -> None:
    """Convert data between svmlight text, CSV and Parquet, compressed or not."""
    from maxmargin import data
    from maxmargin.cli import rows

    dataset = rows.read(
        source,
        format=format,
        target=target,
        qid=qid,
        zero_based=zero_based,
        threads=threads,
        dtype=dtype,
    )
    data.save(dataset, out, format=None if to is None else to.value, threads=threads)
