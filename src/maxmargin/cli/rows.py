"""Data as the commands need it: labels as the file wrote them, columns as the model knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from maxmargin.cli.options import Format
    from maxmargin.data import Dataset


class Model(Protocol):
    """What any model says about the columns it was trained on."""

    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> tuple[str, ...] | None: ...
    @property
    def index_base(self) -> int | None: ...


def read(
    source: str,
    *,
    format: Format | None = None,
    target: str | None = None,
    qid: str | None = None,
    zero_based: bool | None = None,
    threads: int | None = None,
    dtype: str = "float32",
) -> Dataset:
    """Rows of a file; labels like 1.0 become the integers that were written."""
    from maxmargin import data
    from maxmargin.models.labels import whole_numbers

    options: dict[str, Any] = {"dtype": dtype, "threads": threads}
    if format is not None:
        options["format"] = format.value
    if target is not None:
        options["target"] = _column(target)
    if qid is not None:
        options["qid"] = _position(qid)
    if zero_based is not None:
        options["zero_based"] = zero_based
    dataset = data.open(source, **options)
    if dataset.y is not None:
        dataset.y = whole_numbers(dataset.y)
    return dataset


def read_labelled(source: str, **options: Any) -> Dataset:
    """`read`, where labels are needed."""
    dataset = read(source, **options)
    labels_of(dataset)
    return dataset


def labels_of(dataset: Dataset) -> np.ndarray:
    """The labels, which must be there."""
    if dataset.y is None:
        raise ValueError(f"{dataset.source}: has no labels: name their column with --target")
    return dataset.y


def read_for(model: Model, source: str, **options: Any) -> Dataset:
    """Rows to score: the columns are the model's, whatever the file leaves out or adds."""
    dataset = read(source, **options)
    _check_names(dataset, model)
    _check_base(dataset, model)
    dataset.X = _as_wide_as(model.n_features, dataset)
    return dataset


def model_and_rows(
    path: str,
    source: str,
    format: Format | None,
    target: str | None,
    qid: str | None,
    zero_based: bool | None,
    threads: int | None,
    dtype: str,
) -> tuple[Any, Dataset]:
    """A model, and the rows it is to score, read as the options of a command say."""
    from maxmargin.models import load_model

    model = load_model(path)
    options = {"format": format, "target": target, "qid": qid, "zero_based": zero_based}
    return model, read_for(model, source, threads=threads, dtype=dtype, **options)


def label_names(classes: np.ndarray) -> list[str]:
    """Labels as text, integers as integers."""
    return [str(label) for label in np.asarray(classes).tolist()]


def _column(text: str) -> str | int | bool:
    if text == "none":
        return False
    return _position(text)


def _position(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


def _check_names(dataset: Dataset, model: Model) -> None:
    """Columns in another order would be scored silently wrong."""
    if dataset.feature_names is None or model.feature_names is None:
        return
    ours, theirs = list(dataset.feature_names), list(model.feature_names)
    if ours != theirs:
        at = next(
            (j for j, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs))
        )
        found = repr(ours[at]) if at < len(ours) else "no column"
        wanted = repr(theirs[at]) if at < len(theirs) else "none"
        raise ValueError(
            f"{dataset.source}: feature {at + 1} is {found}, but the model was trained with "
            f"{wanted} there: give the columns of the training data in the same order"
        )


def _check_base(dataset: Dataset, model: Model) -> None:
    """svmlight text that names no feature 0 passes for one-based: shift it if the model knows."""
    import scipy.sparse as sp

    bases = (dataset.index_base, model.index_base)
    if bases == (0, 1):
        raise ValueError(
            f"{dataset.source}: has a feature number 0, but the model was trained on text whose "
            "first feature is number 1: number the features of both files alike"
        )
    if bases == (1, 0):
        X: Any = dataset.X
        shape = (X.shape[0], X.shape[1] + 1)
        dataset.X = sp.csr_matrix((X.data, X.indices + 1, X.indptr), shape=shape, copy=False)


def _as_wide_as(d: int, dataset: Dataset):
    """X with d columns. Sparse rows may lack trailing features, or have ones never seen."""
    import scipy.sparse as sp

    X: Any = dataset.X
    if X.shape[1] == d:
        return X
    if not sp.issparse(X):
        raise ValueError(
            f"{dataset.source}: has {X.shape[1]} feature columns, but the model was trained on "
            f"{d}: check which column holds the labels (--target)"
        )
    if X.shape[1] < d:
        return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], d), copy=False)
    return X[:, :d]
