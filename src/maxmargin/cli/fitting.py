"""What passes between the commands and the kinds of machines (see `maxmargin.cli.kinds`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from maxmargin.parameters import Options, positive

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.data import Dataset
    from maxmargin.problem import Callback, Progress
    from maxmargin.training.fit import LinearPlan

DEFAULT_MEASURE = "f1"
AT_K = ("precision_at_k", "recall_at_k")
OF_ORDER = ("prbep", "roc_auc")  # a constant added to all scores changes nothing
DEFAULT_CONSTANT = 1.0


@dataclass(frozen=True)
class Choices:
    """What the options of `train` and `cv` say. Each kind of machine takes some of them.

    Construction refuses options of one measure or kernel beside another.
    """

    C: float = 1.0
    tol: float = 1e-3
    solver: str = "auto"
    max_time: float | None = None
    max_iter: int | None = None
    threads: int | None = None
    seed: int = 0
    bias: float | None = None
    class_weight: list[str] = field(default_factory=list)
    kernel: str = "rbf"
    gamma: str | None = None
    memory: str | None = None
    n_basis: int | None = None
    basis: str = "free"
    measure: str | None = None
    k: float | None = None
    beta: float | None = None
    order: str | None = None
    features: str | None = None
    checkpoint: str | None = None
    checkpoint_every: float = 600.0

    def __post_init__(self) -> None:
        positive("C", self.C)
        self.options()
        measure = self.measure or DEFAULT_MEASURE
        if self.k is not None and measure not in AT_K:
            raise typer.BadParameter(f"--k is for --measure {' or '.join(AT_K)}; this is {measure}")
        if self.k is None and measure in AT_K:
            raise typer.BadParameter(
                f"--measure {measure} needs --k: a number of rows, or a share of them below 1"
            )
        if self.beta is not None and measure != "fbeta":
            raise typer.BadParameter(f"--beta is for --measure fbeta; this is {measure}")
        if self.bias is not None and measure in OF_ORDER:
            raise typer.BadParameter(
                f"--bias: --measure {measure} looks at the order of the scores alone, which a "
                "constant does not change: leave it out"
            )
        if self.gamma is not None:
            check_width(self.kernel, "--gamma")

    def options(self, callback: Callback | None = None) -> Options:
        """When the fit ends and what it may use."""
        return Options(self.tol, self.max_iter, self.max_time, self.threads, self.seed, callback)

    @property
    def constant(self) -> float:
        """The constant feature that carries the intercept; 0 for none."""
        return DEFAULT_CONSTANT if self.bias is None else max(self.bias, 0.0)


def check_width(kernel: str, option: str) -> None:
    """Refuse a width for the kernel that has none."""
    if kernel == "linear":
        raise typer.BadParameter(
            f"{option}: the linear kernel has no gamma: leave it out, or take another --kernel"
        )


@dataclass(frozen=True)
class Grid:
    """What `cv` is to try: values, or how many to choose; in how many folds."""

    Cs: int | list[float]
    gammas: int | list[float]
    folds: int


@dataclass(frozen=True)
class Fitted:
    """A model, how the run went, and what there was to tell apart ("2 classes")."""

    model: Any
    history: list[Progress]
    groups: str


@dataclass(frozen=True)
class Predictions:
    """What is written for every row: a label, decision values, or both."""

    labels: np.ndarray | None
    scores: np.ndarray | None


@dataclass(frozen=True)
class Table:
    """A table for people."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Evaluation:
    """How good a model is: facts for machines, tables for people."""

    facts: dict
    tables: list[Table]


@dataclass(frozen=True)
class Found:
    """What a search found: the model of the best point, facts for machines, a report for people.

    `best` names the point ("C = 1"); `warning` is set if not all was tried; `draw` makes a picture.
    """

    fitted: Fitted
    best: str
    facts: dict
    report: Table | str
    warning: str | None = None
    draw: Callable[[str], None] | None = None


def with_columns(model: Any, dataset: Dataset) -> Any:
    """The model with what the file says about its columns."""
    names = dataset.feature_names
    return replace(
        model,
        feature_names=None if names is None else tuple(names),
        index_base=dataset.index_base,
    )


def linear_plan(
    choices: Choices, callback: Callback | None, classes: list, **more: Any
) -> LinearPlan:
    """The options as training knows them; `classes` are the labels that weights can name."""
    from maxmargin.cli.weights import class_weights
    from maxmargin.training.fit import LinearPlan

    about: dict[str, Any] = {"bias": choices.constant, "solver": choices.solver} | more
    weights = class_weights(choices.class_weight, classes)
    return LinearPlan(choices.C, class_weight=weights, options=choices.options(callback), **about)


def fitted(trained: Any, dataset: Dataset, groups: str) -> Fitted:
    """What training gave, with what the file says about its columns."""
    return Fitted(with_columns(trained.model, dataset), trained.history, groups)


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Warnings of training become messages of the command."""
    from maxmargin.cli.console import warn

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    for warning in said:
        warn(str(warning.message))
