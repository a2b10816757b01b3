"""What passes between the commands and the kinds of machines (see `maxmargin.cli.kinds`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maxmargin.cli import kinds

if TYPE_CHECKING:
    import numpy as np

    from maxmargin.cli.options import Choices
    from maxmargin.data import Dataset
    from maxmargin.problem import Progress


@dataclass(frozen=True)
class Grid:
    """What `cv` is to try: values, or how many to choose; in how many folds."""

    Cs: int | list[float]
    gammas: int | str | list[float]
    folds: int


@dataclass(frozen=True)
class Predictions:
    """What is written for every row: a label, decision values or probabilities."""

    labels: np.ndarray | None
    scores: np.ndarray | None
    probabilities: np.ndarray | None = None


@dataclass(frozen=True)
class Table:
    """A table for people."""

    title: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Evaluation:
    """How good a model is: facts for machines, tables for people."""

    facts: dict[str, Any]
    tables: list[Table]


UNJUDGED = "no point of the grid was tried in every fold"


@dataclass(frozen=True)
class Found:
    """What a search found: the model of the best point, facts for machines, a report for people.

    `best` names the point ("C = 1"); `warning` is set if not all was tried; `draw` makes a picture.
    """

    model: Any
    best: str
    facts: dict[str, Any]
    report: Table | str
    warning: str | None = None
    draw: Callable[[str], object] | None = None


def fit(dataset: Dataset, plan: Any, choices: Choices) -> tuple[Any, str, list[Progress]]:
    """The model of labelled rows, what there was to tell apart ("2 classes"), and the run."""
    machine = kinds.machine(choices.kind)
    trained = machine.fit(dataset, weighted(plan, dataset, choices), choices)
    about = machine.about(dataset, trained.model)
    return with_columns(trained.model, dataset), about, trained.history


def weighted(plan: Any, dataset: Dataset, choices: Choices) -> Any:
    """The plan with the weights of classes that were typed; only kinds with classes take any."""
    typed = class_weight_of(dataset, choices)
    return plan if typed is None else replace(plan, class_weight=typed)


def class_weight_of(dataset: Dataset, choices: Choices) -> dict[str, Any] | str | None:
    """Weights by the labels as they are in the data; of a stream one pass finds them."""
    import numpy as np

    from maxmargin.cli.typed_weights import class_weights
    from maxmargin.models.labels import whole_numbers

    typed = getattr(choices, "class_weight", None)
    if not typed or typed == ["balanced"]:
        return class_weights(typed or [], [])
    source: Any = dataset.X
    if dataset.y is not None or not hasattr(source, "blocks"):
        return class_weights(typed, np.unique(labels_of(dataset)).tolist())
    labels: set[Any] = set()
    for block in source.blocks():
        labels |= set(np.unique(np.asarray(block.y)).tolist())
    return class_weights(typed, whole_numbers(np.array(sorted(labels))).tolist())


def labels_of(dataset: Dataset) -> np.ndarray:
    """The labels, which must be there."""
    if dataset.y is None:
        raise ValueError(
            f"{dataset.source}: has no labels: name their column with --target; FASTA has them in "
            "its headers (>name|+1), or is a file for each class (--positive, --negative)"
        )
    return dataset.y


def numbers_of(dataset: Dataset, advice: str) -> np.ndarray:
    """The labels, which must be numbers."""
    y = labels_of(dataset)
    if y.dtype.kind not in "biuf":
        raise ValueError(f"{dataset.source}: found the label {str(y[0])!r}; {advice}")
    return y


def classes_of(dataset: Dataset) -> np.ndarray:
    """The labels of classes: real numbers are none."""
    import numpy as np

    y = labels_of(dataset)
    if len(y) and (y == y[0]).all():
        raise ValueError(
            f"{dataset.source}: found one class only, {y[0]}, in all {len(y)} rows; expected two "
            "or more: name the column of labels with --target, or train real values with --kind "
            "regression"
        )
    if y.dtype.kind == "f":
        whole = y == np.rint(y)
        if not whole.all():
            row = int(np.argmin(whole))
            raise ValueError(
                f"{dataset.source}: the target of row {row + 1} is {y[row]:g}; expected classes "
                "(whole numbers or words): train real values with --kind regression"
            )
    return y


def with_columns(model: Any, dataset: Dataset) -> Any:
    """The model with what the file says about its columns."""
    if hasattr(dataset.X, "blocks") and dataset.y is None:
        return replace(model, encoder=dataset.encoder)  # the rest training has seen, block by block
    names = dataset.feature_names
    return replace(
        model,
        feature_names=None if names is None else tuple(names),
        index_base=dataset.index_base,
        encoder=dataset.encoder,
    )


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Warnings of training become messages of the command."""
    from maxmargin.cli.console import warn

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    for warning in said:
        warn(str(warning.message))
