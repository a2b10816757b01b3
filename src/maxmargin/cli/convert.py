"""``maxmargin convert``: data from one format and compression to another, or to a row store."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from maxmargin.cli import options, outputs
from maxmargin.cli.outputs import Outputs


class Packing(StrEnum):
    """How the blocks of a row store can be compressed."""

    none = "none"
    lz4 = "lz4"
    zstd = "zstd"


def convert(
    context: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="IN... OUT",
            help="Data (several files or globs for .arrow), then the file to write. Its ending "
            "chooses: .arrow (row store), or .svm .csv .parquet, then .gz .bz2 .xz .zst.",
        ),
    ],
    format: options.SourceFormat = None,
    to: Annotated[
        options.Format | None, typer.Option("--to", help="Format of OUT, whatever its ending.")
    ] = None,
    target: options.Target = None,
    qid: options.Query = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="COLUMN", help="Tables: the rows are this column's texts."),
    ] = None,
    zero_based: options.ZeroBased = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype",
            metavar="TYPE",
            help="Keep values as float32 or float64.",
            show_default="float32 in .arrow, else float64",
        ),
    ] = None,
    shuffle: Annotated[
        bool, typer.Option("--shuffle", help="Row store: rows in random order.")
    ] = False,
    seed: options.Seed = 0,
    compression: Annotated[
        Packing, typer.Option("--compression", help="Row store: pack its blocks.")
    ] = Packing.none,
    threads: options.Threads = None,
    force: options.Force = False,
) -> None:
    """Convert data between svmlight text, CSV and Parquet, or to a row store (.arrow).

    A row store is read block by block at disk speed, so it may be larger than memory, and so may
    the files it is made of: svmlight text, CSV, Parquet, Arrow, FASTA, or another store.
    """
    *sources, out = names
    if not sources:
        raise typer.BadParameter("expected data to read and a file to write: IN... OUT")
    common: dict[str, Any] = {
        "format": format,
        "target": target,
        "qid": qid,
        "zero_based": zero_based,
        "threads": threads,
    }
    to_store = to == options.Format.arrow or (to is None and out.lower().endswith(".arrow"))
    if not to_store:
        _check_options(context, sources)
    if out != "-":
        Outputs(sources, force).check(out, outputs.store() if to_store else outputs.data())
    if to_store:
        _to_store(sources, out, common, text, dtype, shuffle, seed, compression)
    else:
        _to_file(sources[0], out, common, to, dtype)


def _check_options(context: typer.Context, sources: list[str]) -> None:
    """Refuse what only a row store has, rather than ignore it."""
    from maxmargin.cli.train import typed

    for name in ("text", "shuffle", "seed", "compression"):
        if name in typed(context):
            raise typer.BadParameter(f"--{name} is for a row store: let OUT end in .arrow")
    if len(sources) > 1:
        raise typer.BadParameter(
            f"found {len(sources)} files to read; only a row store (OUT.arrow) takes several"
        )


def _to_store(
    sources: list[str],
    out: str,
    common: dict[str, Any],
    text: str | None,
    dtype: str | None,
    shuffle: bool,
    seed: int,
    compression: Packing,
) -> None:
    from maxmargin import data
    from maxmargin.cli import rows

    source = rows.source_of(sources, dtype=dtype or "float32", text=text, **common)
    data.write_store(
        source,
        out,
        dtype=dtype,
        compression=None if compression == Packing.none else compression.value,
        shuffle=shuffle,
        seed=seed,
    )


def _to_file(
    source: str, out: str, common: dict[str, Any], to: options.Format | None, dtype: str | None
) -> None:
    from maxmargin import data
    from maxmargin.cli import rows

    dataset = rows.read(source, dtype=dtype or "float64", **common)
    data.save(dataset, out, format=None if to is None else to.value, threads=common["threads"])
