"""Data as the commands need it: labels as the file wrote them, columns as the model knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import typer

from maxmargin.cli import kinds, tables
from maxmargin.cli.fitting import labels_of, warnings_as_messages
from maxmargin.cli.stages import Counting, Reading

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.cli.progress import Messages
    from maxmargin.data import BlockSource, Dataset
    from maxmargin.data.encoding.encoding import TableEncoding


Watch = Callable[[str, float], object]


class Model(Protocol):
    """What any model says about the columns it was trained on."""

    @property
    def n_features(self) -> int: ...
    @property
    def feature_names(self) -> tuple[str, ...] | None: ...
    @property
    def index_base(self) -> int | None: ...
    @property
    def encoder(self) -> TableEncoding | None: ...


def reading(choices: Choices) -> dict[str, Any]:
    """What was typed about the data, as `data.open` and `data.open_source` know it."""
    typed = vars(choices)
    options = {name: typed.get(name) for name in ("format", "zero_based", "threads", "dtype")}
    for name, known in (("target", _column), ("qid", _position), ("weight", _position)):
        options[name] = None if typed.get(name) is None else known(typed[name])
    if typed.get("group") is not None:
        options["qid"] = _position(typed["group"])
    options["drop"] = typed.get("drop") or None
    options["encode"] = (
        tables.to_encode(typed.get("kind")) if typed.get("encode") == "auto" else None
    )
    return {name: value for name, value in options.items() if value is not None}


def read(source: str, choices: Choices, watch: Watch | None = None) -> Dataset:
    """Rows of a file; labels like 1.0 become the integers that were written."""
    from maxmargin import data
    from maxmargin.models.labels import whole_numbers

    if choices.format == "fasta" or getattr(choices, "positive", None) is not None:
        raise typer.BadParameter("strings of FASTA files need --features, as weighted_degree:8")
    dataset = data.open(source, watch=watch, **reading(choices))
    if dataset.y is not None:
        dataset.y = whole_numbers(dataset.y)
    return dataset


def read_shown(
    source: str,
    choices: Choices,
    messages: Messages,
    how: Callable[[str, Choices, Watch], Dataset] = read,
) -> Dataset:
    """Rows, while a line tells how far the reading is; warnings become messages."""
    stage = Reading(source)
    with warnings_as_messages(), messages.showing(stage):
        return how(source, choices, stage.see)


def source_of(sources: list[str], choices: Choices, **options: Any) -> BlockSource:
    """Rows of one or more files that are read block by block."""
    from maxmargin import data

    options |= {"text": getattr(choices, "text", None), **reading(choices)}
    if getattr(choices, "positive", None) is None:
        return data.open_source(sources, **options)
    if options.get("target") is not None:
        raise typer.BadParameter("--target is for labels in a file: leave it out")
    return data.open_two_classes(choices.positive, choices.negative, **options)


def files_of(first: str | None, model: str | None, choices: Choices) -> tuple[list[str], Any]:
    """The files of rows, and the model: with a file for each class, the only argument."""
    files = [choices.positive, choices.negative]
    if files == [None, None]:
        if first is None:
            raise typer.BadParameter("name the file of rows, or --positive and --negative")
        return [first], model
    if None in files:
        raise typer.BadParameter("--positive and --negative go together: name both files")
    if model is not None:
        raise typer.BadParameter(
            "with --positive and --negative the rows are named: give the MODEL only"
        )
    return files, first


def read_labelled(source: str, choices: Choices, watch: Watch | None = None) -> Dataset:
    """Rows to train on: in memory, or left on disk where the kind or the user wants that."""
    if kinds.KINDS[choices.kind].streams:
        from maxmargin.training.stream import StreamPlan
        from maxmargin.training.stream_memory import blocks_within

        memory = choices.memory or StreamPlan.memory
        return as_source(source, choices, block_bytes=blocks_within(memory))
    if choices.features is not None:
        return with_features(source, choices)
    in_memory = not choices.from_disk
    dataset = read(source, choices, watch) if in_memory else leave_on_disk(source, choices)
    labels_of(dataset)
    return dataset


def with_features(source: str, choices: Choices) -> Dataset:
    """X is a source of features, made of rows in memory or on disk."""
    from maxmargin.data import open_source
    from maxmargin.data.features import feature_map, mapped
    from maxmargin.data.stream.source_rows import read_rows

    features = cast(Any, feature_map(choices.features))
    dataset = with_metadata(as_source(source, choices))
    rows: Any = dataset.X
    if not choices.from_disk:
        X = strings_in(rows) if rows.kind == "strings" else read_rows(rows)[0]
        rows = open_source(replace(dataset, X=X))
    dataset.X = cast(Any, mapped(rows, features, choices.threads))
    labels_of(dataset)
    return dataset


def leave_on_disk(source: str, choices: Choices) -> Dataset:
    """X is a source of blocks: only labels, weights and qid are in memory."""
    from maxmargin.data.stream.source_rows import check_numbers

    dataset = as_source(source, choices)
    check_numbers(cast(Any, dataset.X))
    return with_metadata(dataset)


def with_metadata(dataset: Dataset) -> Dataset:
    """Rows of a source with its labels, weights and qid in memory."""
    from maxmargin.data.stream.source_rows import read_metadata
    from maxmargin.models.labels import whole_numbers

    metadata = read_metadata(cast(Any, dataset.X))
    dataset.y = None if metadata.y is None else whole_numbers(metadata.y)
    dataset.qid, dataset.weight = metadata.qid, metadata.weight
    return dataset


def as_source(source: str, choices: Choices, **options: Any) -> Dataset:
    """A file as a source of blocks, labels and weights included: nothing of it is in memory."""
    from maxmargin.data import Dataset

    rows = source_of([source], choices, **options)
    return Dataset(
        cast(Any, rows),
        None,
        feature_names=rows.feature_names,
        index_base=rows.index_base,
        encoder=getattr(rows, "encoder", None),
        source=rows.name,
    )


def shape_of(dataset: Dataset) -> tuple[int, int]:
    """How many rows and features there are."""
    X: Any = dataset.X
    return (X.n, X.d) if hasattr(X, "blocks") else X.shape


def told_shape(n: int, d: int) -> str:
    """The same for people; strings have as many features as a map makes of them."""
    return f"{n} rows x {d} feature{'s' * (d > 1)}" if d else f"{n} strings"


def bare(model: Any) -> Any:
    """A model for rows that are encoded already."""
    return replace(model, encoder=None)


def read_for(model: Model, source: str, choices: Choices, watch: Watch | None = None) -> Dataset:
    """Rows to score, encoded: the columns are the model's, whatever the file leaves out or adds."""
    if getattr(model, "rows", None) == "strings":
        return strings_for(source, choices)
    if choices.text is not None:
        raise ValueError(f"{source}: --text is for models of strings, and this one is of numbers")
    if model.encoder is not None:
        return tables.read_for(model.encoder, source, reading(choices), watch)
    return suited_to(model, read(source, choices, watch))


def read_for_shown(model: Any, source: str, choices: Choices, messages: Messages) -> Dataset:
    """`read_for`, while a line tells how far it is."""

    def how(source: str, choices: Choices, watch: Watch) -> Dataset:
        return read_for(model, source, choices, watch)

    return read_shown(source, choices, messages, how)


def suited_to(model: Model, dataset: Dataset) -> Dataset:
    """Rows with the columns of the model; refused if they are others."""
    dataset = _by_name(dataset, model)
    _check_base(dataset, model)
    dataset.X = _as_wide_as(model.n_features, dataset)
    return dataset


def pieces_for(model: Any, source: str, choices: Choices, stage: Counting) -> Iterator[Dataset]:
    """`read_for` block by block: no more than a few megabytes of rows are in memory."""
    from maxmargin.data import Dataset

    if model.encoder is not None:
        yield from tables.pieces_for(model.encoder, source, reading(choices), stage)
        return
    rows = source_of([source], choices)
    stage.total = rows.n
    of_strings = getattr(model, "rows", None) == "strings"
    if of_strings != (rows.kind == "strings"):
        wanted, found = ("strings", "numbers") if of_strings else ("numbers", "strings")
        raise ValueError(f"{rows.name}: its rows are {found}, and the model is of {wanted}")
    for block in rows.blocks():
        X: Any = block.X
        piece = Dataset(
            X if of_strings else X.astype(choices.dtype, copy=False),
            block.y,
            weight=block.weight,
            qid=block.qid,
            feature_names=rows.feature_names,
            index_base=rows.index_base,
            source=rows.name,
        )
        yield piece if of_strings else suited_to(model, piece)


ROWS_AT_ONCE = 1 << 14  # of predictions


def pieces_of(dataset: Dataset) -> Iterator[Dataset]:
    """Rows in memory some at a time, strings at once."""
    from maxmargin.data.sparse import rows_between

    X, n = dataset.X, dataset.X.shape[0]
    if not hasattr(X, "ndim") or n <= ROWS_AT_ONCE:
        yield dataset
        return
    told = {name: getattr(dataset, name) for name in ("y", "weight", "qid")}
    for begin in range(0, n, ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, n)
        parts = {name: part[begin:end] for name, part in told.items() if part is not None}
        yield replace(dataset, X=rows_between(X, begin, end), **parts)


def strings_for(source: str, choices: Choices) -> Dataset:
    """Strings to score, all in memory: they are compact."""
    dataset = as_source(source, choices)
    if cast(Any, dataset.X).kind != "strings":
        raise ValueError(f"{dataset.source}: its rows are numbers, and the model is of strings")
    return replace(with_metadata(dataset), X=strings_in(dataset.X))


def strings_in(rows: Any) -> Any:
    """All strings of a source."""
    from maxmargin.data import Strings

    blocks = [block.X for block in rows.blocks()]
    lengths = [np.diff(X.starts) for X in blocks]
    starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    return Strings(np.concatenate([_letters(X) for X in blocks]), starts)


def _letters(X: Any) -> np.ndarray:
    return X.letters[X.starts[0] : X.starts[-1]]


def label_names(classes: np.ndarray) -> list[str]:
    """Labels as text, integers as integers."""
    return [str(label) for label in np.asarray(classes).tolist()]


def _column(text: str) -> str | int | bool:
    if text == "none":
        return False
    return _position(text)


def _position(text: str) -> str | int:
    return int(text) if text.lstrip("-").isdigit() else text


def _by_name(dataset: Dataset, model: Model) -> Dataset:
    """Named columns in the order of the model, whatever their order in the file."""
    if dataset.feature_names is None or model.feature_names is None:
        return dataset
    place = {name: j for j, name in enumerate(dataset.feature_names)}
    missing = [name for name in model.feature_names if name not in place]
    if missing:
        some = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        raise ValueError(
            f"{dataset.source}: has no column {some}; the model was trained with "
            f"{len(model.feature_names)} columns: add what is missing"
        )
    wanted = [place[name] for name in model.feature_names]
    if wanted != list(range(len(place))):
        dataset.X = dataset.X[:, wanted]
    return dataset


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


def _as_wide_as(d: int, dataset: Dataset) -> Any:
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
