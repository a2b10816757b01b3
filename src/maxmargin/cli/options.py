"""Options that several commands share, so that they read and mean the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from maxmargin.cli.weights import check_weights


class Kind(StrEnum):
    """Kinds of machines that can be trained: see `maxmargin.cli.kinds`."""

    linear = "linear"
    kernel = "kernel"
    sparse_kernel = "sparse-kernel"
    rank = "rank"
    ordinal = "ordinal"
    measure = "measure"
    stream = "stream"


class Measure(StrEnum):
    """Measures that can be trained for."""

    f1 = "f1"
    fbeta = "fbeta"
    prbep = "prbep"
    precision_at_k = "precision_at_k"
    recall_at_k = "recall_at_k"
    roc_auc = "roc_auc"
    error = "error"


class Kernel(StrEnum):
    """Kernels by name."""

    rbf = "rbf"
    laplacian = "laplacian"
    poly = "poly"
    linear = "linear"


class Basis(StrEnum):
    """Sources of basis vectors."""

    free = "free"
    training = "training"
    nystroem = "nystroem"
    cholesky = "cholesky"


class Format(StrEnum):
    """Formats of data files."""

    svmlight = "svmlight"
    csv = "csv"
    parquet = "parquet"
    arrow = "arrow"


class AnyFormat(StrEnum):
    """Formats of files that are read block by block."""

    svmlight = "svmlight"
    csv = "csv"
    parquet = "parquet"
    arrow = "arrow"
    fasta = "fasta"


class Solver(StrEnum):
    """Methods for linear machines."""

    auto = "auto"
    dual = "dual"
    ocas = "ocas"
    cpa = "cpa"
    newton = "newton"


DATA_HELP = "svmlight text, CSV, Parquet or Arrow, plain or .gz .bz2 .xz .zst; '-' is stdin."

DataFormat = Annotated[
    Format | None, typer.Option("--format", help="Of the data, if its content does not tell.")
]
SourceFormat = Annotated[
    AnyFormat | None, typer.Option("--format", help="Of the data, if its content does not tell.")
]
FromDisk = Annotated[
    bool,
    typer.Option(
        "--from-disk",
        help="Leave the rows on disk and read them in every pass: for data larger than memory.",
    ),
]
PiecesFromDisk = Annotated[
    bool,
    typer.Option(
        "--from-disk",
        help="Read and score the rows piece by piece: for data larger than memory.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", metavar="COLUMN", help="Tables: column of labels, by name or position, or none."
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "--qid",
        metavar="COLUMN",
        help="Tables: column of query numbers, by name or position. Default: the one named qid.",
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based", help="svmlight: number of the first feature, if not clear."
    ),
]
Threads = Annotated[
    int | None, typer.Option("--threads", metavar="N", help="Default: all available CPUs.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Write over any file, even one that holds something else.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
Tolerance = Annotated[
    float,
    typer.Option("-e", "--tol", metavar="TOL", help="Stop at this relative duality gap."),
]
Bias = Annotated[
    float | None,
    typer.Option(
        "-B",
        "--bias",
        metavar="BIAS",
        help="Constant feature that carries the (regularised) intercept; 0 or less: no intercept.",
        show_default="1",
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        metavar="LABEL=W",
        callback=check_weights,
        help="Multiply C for a class; repeat it, or 'balanced'. LIBLINEAR's -wLABEL W works too.",
    ),
]
SolverChoice = Annotated[Solver, typer.Option("--solver", help="How to solve it.")]
KindChoice = Annotated[Kind, typer.Option("--kind", help="What to train.")]
KernelChoice = Annotated[
    Kernel, typer.Option("--kernel", help="Kernel kinds: the kernel function.")
]
Gamma = Annotated[
    str | None,
    typer.Option(
        "--gamma",
        metavar="G",
        help="Kernel kinds: its gamma, a number, scale or auto.",
        show_default="scale",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="BYTES",
        help="--kind kernel: for the kernel matrix; stream: for cached rows. 512MB or 2GB, say.",
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        metavar="MAP",
        help="--kind stream: made on the fly: weighted_degree:8, word_ngrams:2, char_ngrams:4, "
        "pairs, fourier:1000,gamma=0.5.",
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option("--text", metavar="COLUMN", help="Tables: the rows are this column's texts."),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="--kind stream: keep the state of the run here, and go on from it if it is there.",
    ),
]
CheckpointEvery = Annotated[
    float,
    typer.Option("--checkpoint-every", metavar="SECONDS", help="Between two checkpoints."),
]
BasisSize = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--n-basis",
        metavar="N",
        min=1,
        help="--kind sparse-kernel: how many basis vectors.",
        show_default="100",
    ),
]
BasisChoice = Annotated[
    Basis,
    typer.Option("--basis", help="--kind sparse-kernel: where basis vectors come from."),
]
MeasureChoice = Annotated[
    Measure | None,
    typer.Option("--measure", help="--kind measure: what to train for.", show_default="f1"),
]
AtK = Annotated[
    float | None,
    typer.Option("--k", metavar="K", help="Measures at k: how many rows, or a share below 1."),
]
Beta = Annotated[
    float | None,
    typer.Option(
        "--beta", metavar="B", help="fbeta: weight of recall against precision.", show_default="1"
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="LIST", help="--kind ordinal: labels from low to high, as bad,fair,good."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Train on the workers of a Dask cluster; TRAIN may be a folder or a pattern.",
    ),
]
MaxTime = Annotated[
    float | None, typer.Option("--max-time", metavar="SECONDS", help="Stop fitting after this.")
]
MaxIter = Annotated[
    int | None, typer.Option("--max-iter", metavar="N", help="Stop after N iterations.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of random orders.")]
Numbers = Annotated[
    str,
    typer.Option(
        "--dtype",
        metavar="TYPE",
        help="Keep values as float32 or float64; rows streamed from a row store stay as they are.",
    ),
]
