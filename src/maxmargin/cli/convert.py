"""``maxmargin convert``: data from one format and compression to another, or to a row store."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Any

import typer

from maxmargin.cli import options, outputs
from maxmargin.cli.options import DATA, OUTPUT, Choices, Option
from maxmargin.cli.outputs import Outputs
from maxmargin.cli.progress import Messages
from maxmargin.cli.stages import Counting, Reading

SHUFFLE = Option("--shuffle", "Row store: rows in random order.", bool, False, group=OUTPUT)
COMPRESSION = Option(
    "--compression", "Row store: pack its blocks:", default="none",
    choices=("none", "lz4", "zstd"), group=OUTPUT,
)  # fmt: skip
STORE_ONLY = (options.TEXT, SHUFFLE, options.SEED, COMPRESSION)
OPTIONS = (
    *(options.FORMAT, options.TARGET, options.QID, options.TEXT, options.ZERO_BASED),
    Option(
        "--dtype",
        "Keep values as float32 or float64.",
        metavar="TYPE",
        said="float32 in .arrow, else float64",
        group=DATA,
    ),
    Option("--to", "Of OUT, whatever its ending:", choices=options.FORMATS, group=OUTPUT),
    *(SHUFFLE, options.SEED, COMPRESSION, options.THREADS, options.FORCE),
)
EXAMPLES = (
    ("convert huge.csv.gz huge.arrow --target price", "a row store, read at disk speed"),
    ("convert a.svm b.svm all.arrow --shuffle", "several files, rows in random order"),
    ("convert spam.svm spam.parquet", "svmlight text to a table"),
)


def convert(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="IN... OUT",
            help="Data (several files or globs for .arrow), then the file to write. Its ending "
            "chooses: .arrow (row store), or .svm .csv .parquet, then .gz .bz2 .xz .zst.",
        ),
    ],
    *,
    choices: Choices,
) -> None:
    """Convert data between svmlight text, CSV and Parquet, or to a row store (.arrow).

    A row store is read block by block at disk speed, so it may be larger than memory, and so may
    the files it is made of: svmlight text, CSV, Parquet, Arrow, FASTA, or another store.
    """
    *sources, out = names
    if not sources:
        raise typer.BadParameter("expected data to read and a file to write: IN... OUT")
    by_name = out.lower().endswith(".arrow")
    to_store = choices.to == "arrow" or (choices.to is None and by_name)
    if not to_store:
        _check_options(choices, sources)
    if out != "-":
        kind = outputs.store() if to_store else outputs.data()
        Outputs(sources, choices.force).check(out, kind)
    if to_store:
        _to_store(sources, out, choices)
    else:
        _to_file(sources[0], out, choices)


def _check_options(choices: Choices, sources: list[str]) -> None:
    """Refuse what only a row store has, rather than ignore it."""
    for option in STORE_ONLY:
        if option.name in choices.typed:
            raise typer.BadParameter(f"--{option.name} is for a row store: let OUT end in .arrow")
    if len(sources) > 1:
        raise typer.BadParameter(
            f"found {len(sources)} files to read; only a row store (OUT.arrow) takes several"
        )


def _to_store(sources: list[str], out: str, choices: Choices) -> None:
    from maxmargin import data
    from maxmargin.cli import rows

    dtype, messages = choices.dtype, Messages()
    choices.dtype = dtype or "float32"
    with messages.showing(Reading(sources[0])):
        source = rows.source_of(sources, choices)
    stage = Counting("converting", 0, "rows")
    if messages.watched:
        stage.count(source)
    with messages.showing(stage):
        data.write_store(
            source,
            out,
            dtype=dtype,
            compression=None if choices.compression == "none" else choices.compression,
            shuffle=choices.shuffle,
            seed=choices.seed,
        )


def _to_file(source: str, out: str, choices: Choices) -> None:
    from maxmargin import data
    from maxmargin.cli import rows

    choices.dtype = choices.dtype or "float64"
    more: dict[str, Any] = {"format": choices.to, "threads": choices.threads}
    messages = Messages()
    dataset = rows.read_shown(source, choices, messages)
    stage = Counting(f"writing {os.path.basename(out)}", rows.shape_of(dataset)[0], "rows")
    with messages.showing(stage):
        data.save(dataset, out, watch=partial(setattr, stage, "done"), **more)
