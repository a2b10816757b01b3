"""The kinds of machines that commands know: one entry of a table and one class each.

A new kind is an entry in `KINDS` and a `Machine` in a module of this folder; a new option of a kind
is one line of its entry, filled into the field of the plan that has its name. Modules are imported
when a command needs them, and import training only inside their functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.cli.kernel_options import (
    CELLS,
    GAMMAS,
    KERNEL_OPTIONS,
    MULTI_CLASS,
    OFFSET,
    ON_BASIS,
    PICTURE,
)
from maxmargin.cli.options import (
    FROM_DISK,
    QID,
    SEED,
    TEXT,
    Choices,
    Option,
    spelled,
)
from maxmargin.cli.regression_options import EPSILONS, LOSS, REGRESSION, numbers
from maxmargin.cli.typed_weights import check_weights
from maxmargin.solvers.table import SOLVERS, solvers_for

if TYPE_CHECKING:
    from maxmargin.cli.kinds.base import Machine


@dataclass(frozen=True)
class Kind:
    """An entry of the table: what a kind is, where it lives, and what it takes."""

    name: str
    home: str  # module and class, in this folder
    about: str
    example: tuple[str, str]  # arguments of a command, and what they do
    options: tuple[Option, ...]  # that not every kind takes
    solvers: tuple[str, ...] = ()  # none: there is no choice
    beside: str = ""  # a kind much like it, in whose box of the help it is named
    values: bool = False  # labels are numbers to predict
    streams: bool = False  # rows always stay on disk, and are read block by block

    def takes(self, name: str) -> bool:
        """Whether a parameter that not every kind takes is one of this kind."""
        return any(option.name == name for option in self.options)

    def examples(self, command: str) -> list[tuple[str, str]]:
        """For help: how a command is used with this kind."""
        return [(f"{command} --kind {self.name} {self.example[0]}", self.example[1])]


CUTTING_PLANES = ("auto", *solvers_for())
POINTWISE_SOLVERS = ("auto", *SOLVERS)
MEASURES = ("f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "roc_auc", "error")

SOLVER = Option("--solver", "How to solve it:", default="auto", choices=POINTWISE_SOLVERS)
BIAS = Option(
    "-B --bias", "Constant feature that carries the intercept; 0 or less: no intercept.", float,
    metavar="BIAS", said="1", read=lambda bias: max(bias, 0.0),
)  # fmt: skip
INTERCEPT = Option(
    "--intercept", "The intercept is:", default="regularised",
    choices=("regularised", "free"),
)  # fmt: skip
CLASS_WEIGHT = Option(
    "--class-weight", "Multiply C for a class; repeat it, or 'balanced'. -wLABEL W works too.",
    list[str], metavar="LABEL=W", check=check_weights,
)  # fmt: skip


PROBABILITIES = Option(
    "--probabilities", "Calibrate probabilities, for predict --probabilities.", bool, False
)
ORDER = Option("--order", "Labels from low to high, as bad,fair,good.", metavar="LIST")
MEMORY = Option("--memory", "Budget, as 512MB or 2GB.", metavar="BYTES")
IN_CELLS = (CELLS, FROM_DISK, MEMORY)
FEATURES = Option(
    "--features",
    "Made on the fly: weighted_degree:8, spectrum:6, mismatch:5, gappy:4, word_ngrams:2, "
    "char_ngrams:4, pairs, hashing:20, fourier:1000,gamma=0.5.",
    metavar="MAP",
)
ON_THE_FLY = (FEATURES, TEXT)
STREAMED = (
    FEATURES,
    Option("--checkpoint", "Keep the state here, and go on from it.", metavar="FILE"),
    Option("--checkpoint-every", "Between two.", float, 600.0, "SECONDS"),
    *(MEMORY, TEXT, BIAS),
)

FOR_MEASURE = (
    Option("--measure", "What to train for:", choices=MEASURES, said="f1; with a kernel the hinge"),
    Option("--k", "Measures at k: how many rows, or a share below 1.", float, metavar="K"),
    Option("--pos-label", "The positive class.", metavar="LABEL", said="the last by order"),
    Option("--beta", "fbeta: recall against precision.", float, metavar="B", said="1"),
)

_ENTRIES = (
    Kind(
        "linear",
        "linear.Linear",
        "classes apart by hyperplanes (the default)",
        ("spam.svm -c 0.1", "a linear SVM of one or more classes"),
        (
            *(LOSS, SOLVER, BIAS, INTERCEPT, CLASS_WEIGHT, PROBABILITIES, SEED, FROM_DISK),
            *ON_THE_FLY,
        ),
        POINTWISE_SOLVERS,
    ),
    Kind(
        "regression",
        "regression.Regression",
        "real values, quantiles or expectiles by linear functions",
        ("prices.csv --loss quantile --quantile 0.1,0.5,0.9", "a median with a band around it"),
        (
            *(LOSS, *REGRESSION, EPSILONS),
            *(SOLVER, BIAS, INTERCEPT, SEED, FROM_DISK, *ON_THE_FLY),
        ),
        POINTWISE_SOLVERS,
        values=True,
    ),
    Kind(
        "kernel",
        "kernel.KernelMachine",
        "classes apart by a kernel machine",
        ("shuttle.svm -c 10 --gamma 0.5", "an RBF machine"),
        (
            *(*KERNEL_OPTIONS, OFFSET, MULTI_CLASS, CLASS_WEIGHT, PROBABILITIES, SEED),
            *(*IN_CELLS, GAMMAS, PICTURE),
        ),
    ),
    Kind(
        "kernel-regression",
        "kernel_regression.KernelRegression",
        "real values, quantiles or expectiles by kernels",
        ("prices.csv --loss quantile --quantile 0.1,0.9 --gamma 2", "a band of any shape"),
        (LOSS, *REGRESSION, *KERNEL_OPTIONS, OFFSET, SEED, *IN_CELLS, GAMMAS),
        values=True,
    ),
    Kind(
        "sparse-kernel",
        "sparse_kernel.SparseKernel",
        "kernel machines of few basis vectors",
        ("shuttle.svm -k 200", "at most 200 kernel values for a prediction"),
        (
            *(*ON_BASIS, *KERNEL_OPTIONS, LOSS, *FOR_MEASURE),
            *(CLASS_WEIGHT, PROBABILITIES, SEED, GAMMAS),
        ),
    ),
    Kind(
        "rank",
        "rank.Rank",
        "scores that order the rows of a query",
        ("queries.svm -c 0.01", "pairs of a query in the order of their grades"),
        (SOLVER, QID, FROM_DISK, *ON_THE_FLY),
        CUTTING_PLANES,
    ),
    Kind(
        "ordinal",
        "ordinal.Ordinal",
        "labels that have an order",
        ("reviews.csv --order bad,fair,good", "neighbouring labels are lesser errors"),
        (*(ORDER, SOLVER, CLASS_WEIGHT, FROM_DISK, *ON_THE_FLY),),
        CUTTING_PLANES,
    ),
    Kind(
        "measure",
        "measure.ForMeasure",
        "classes, trained for F1, ROC area or another measure",
        ("fraud.csv --target fraud --measure roc_auc", "the ROC area itself is optimised"),
        (
            Option("--ks", "Values of k to try.", metavar="LIST", read=numbers("--ks")),
            *(*FOR_MEASURE, SOLVER, BIAS, CLASS_WEIGHT, FROM_DISK, *ON_THE_FLY),
        ),
        CUTTING_PLANES,
    ),
    Kind(
        "sparse-kernel-regression",
        "sparse_kernel.SparseKernelRegression",
        "real values or quantiles, of few basis vectors",
        ("prices.csv -k 200 --loss huber", "training grows linearly with the rows"),
        (LOSS, *REGRESSION, *ON_BASIS, *KERNEL_OPTIONS, SEED, GAMMAS),
        beside="sparse-kernel",
        values=True,
    ),
    Kind(
        "sparse-kernel-rank",
        "sparse_kernel.SparseKernelRank",
        "scores that order the rows of a query, of few basis vectors",
        ("queries.svm -k 200 -c 0.01", "a ranking by a kernel"),
        (QID, *ON_BASIS, *KERNEL_OPTIONS, SEED, GAMMAS),
        beside="sparse-kernel",
    ),
    Kind(
        "sparse-kernel-ordinal",
        "sparse_kernel.SparseKernelOrdinal",
        "labels that have an order, of few basis vectors",
        ("reviews.csv --order bad,fair,good -k 200", "one kernel score for all labels"),
        (ORDER, CLASS_WEIGHT, *ON_BASIS, *KERNEL_OPTIONS, SEED, GAMMAS),
        beside="sparse-kernel",
    ),
    Kind(
        "stream",
        "stream.Stream",
        "linear classes of data larger than memory",
        ("huge.svm.zst --memory 2GB --checkpoint run.state", "needs 2 GB, whatever the file has"),
        (*(LOSS, *STREAMED, CLASS_WEIGHT, SEED),),
        streams=True,
    ),
    Kind(
        "stream-regression",
        "stream.StreamRegression",
        "real values of data larger than memory",
        ("huge.csv --loss huber --memory 2GB", "needs 2 GB, whatever the file has"),
        (LOSS, *REGRESSION, *STREAMED, SEED),
        streams=True,
        values=True,
    ),
)
KINDS = {entry.name: entry for entry in _ENTRIES}
ONLY_CV = ("gammas", "picture", "epsilons", "ks")  # options that search for a value
KIND = Option(
    "--kind", "What to train: one of the boxes below.", str, "linear", "KIND", choices=tuple(KINDS)
)


def options(*leave_out: str) -> list[Option]:
    """All options of kinds, each once."""
    every = (option for kind in _ENTRIES for option in kind.options)
    return [option for option in dict.fromkeys(every) if option.name not in leave_out]


def machine(kind: str) -> Machine:
    """What commands ask of a kind."""
    module, name = KINDS[kind].home.split(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)()


def machine_of(model: Any) -> Machine:
    """The same for a model that was loaded."""
    from maxmargin.models.files import kind_of

    kind = kind_of(model).removesuffix("-cells").removesuffix("-features")
    if kind not in KINDS:
        raise ValueError(
            f"a {kind} model is not for commands, which know one target a row: use it in Python "
            "(maxmargin.load)"
        )
    return machine(kind)


def check_options(choices: Choices, shared: Sequence[str] = ()) -> None:
    """Refuse what the kind does not take, rather than ignore it; all take what is `shared`."""
    chosen = KINDS[choices.kind]
    for name in sorted(choices.typed - set(shared)):
        takers = [other for other, entry in KINDS.items() if entry.takes(name)]
        if takers and not chosen.takes(name):
            raise typer.BadParameter(
                f"{spelled(name)} is for --kind {' or '.join(takers)}, but the kind is "
                f"{chosen.name}: leave it out, or name that kind"
            )
    if chosen.solvers and choices.solver not in chosen.solvers:
        raise typer.BadParameter(
            f"--solver {choices.solver} is not for --kind {chosen.name}: expected one of "
            f"{', '.join(chosen.solvers)}"
        )
