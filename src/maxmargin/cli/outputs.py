"""Where commands write: checked before the work, so that nothing is lost and no work is in vain.

What a file must hold to be written over without --force, by what is written:

    model, picture, row store, LIBLINEAR, LIBSVM, ONNX    the same, told by its first bytes
    predictions                                           predictions with the labels of the model
    data (svmlight, CSV, Parquet)                         nothing: no file tells who wrote it
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin.data.outputs import Kind

READ = 1 << 16  # characters that are looked at


class Outputs:
    """The files a command writes, each checked against the ones it reads and the other ones."""

    def __init__(self, inputs: Iterable[str], force: bool) -> None:
        named = [path for path in inputs if path != "-"]
        self.inputs = [file for path in named for file in glob.glob(path) or [path]]
        self.force = force
        self._checked: list[str] = []

    def check(self, path: str, kind: Kind) -> None:
        """Refuse a place where the output cannot go, or where something would be lost."""
        from maxmargin.data.outputs import check_output, is_one_of

        if is_one_of(path, self._checked):
            raise ValueError(f"{path}: is named for two outputs: name another file for one of them")
        check_output(path, kind, self.inputs, force=self.force)
        self._checked.append(path)


def checkpoints() -> Kind:
    """The state of a run."""
    from maxmargin.data.outputs import Kind, begins

    return Kind("a checkpoint", begins(b"maxmargin checkpoint "))


def store() -> Kind:
    """Row stores."""
    from maxmargin.data.outputs import Kind

    return Kind("a row store", is_store)


def data() -> Kind:
    """Data that looks like anybody's."""
    from maxmargin.data.outputs import Kind

    return Kind("an output that maxmargin can tell from your data", lambda path: False)


def ranges() -> Kind:
    """Ranges of features, as svm-scale writes them."""
    from maxmargin.data.outputs import Kind, begins

    return Kind("ranges of features", begins(b"x\n"))


def exported(suffix: str) -> Kind:
    """Models for other systems."""
    from maxmargin.data.outputs import Kind, begins
    from maxmargin.models.files import MODEL_FILE

    kinds = {
        ".liblinear": Kind("a LIBLINEAR model", begins(b"solver_type ")),
        ".libsvm": Kind("a LIBSVM model", begins(b"svm_type ")),
        ".onnx": Kind("an ONNX model by maxmargin", _is_onnx),
        ".c": Kind("C source by maxmargin", begins(b"/* A model of maxmargin")),
        ".safetensors": MODEL_FILE,
    }
    return kinds[suffix]


def predictions(labels: Sequence[str] | None) -> Kind:
    """What `predict` writes with a model of these labels; None for scores alone."""
    from maxmargin.data.outputs import Kind

    return Kind("predictions of this model", _are_predictions(labels))


def is_store(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        if file.read(6) != b"ARROW1":  # before pyarrow, which is slow to import
            return False
    from maxmargin.data.store import store

    return store.is_store(os.fspath(path))


def _is_onnx(path: str | os.PathLike[str]) -> bool:
    with open(path, "rb") as file:
        return b"maxmargin" in file.read(64)  # the producer stands first


def _are_predictions(labels: Sequence[str] | None) -> Callable[[str | os.PathLike[str]], bool]:
    def are_predictions(path: str | os.PathLike[str]) -> bool:
        with open(path, encoding="utf-8", errors="replace") as file:
            start = file.read(READ)
        if start.startswith(('{"labels": [', '{"scores": [')):  # as --json writes them
            return True
        lines = start.split("\n")[:-1]  # the last one is cut, or empty
        return bool(lines) and all(_is_prediction(line, labels) for line in lines)

    return are_predictions


def _is_prediction(line: str, labels: Sequence[str] | None) -> bool:
    if labels is None:
        return _are_numbers(line)
    rests = (line[len(label) :] for label in labels if line.startswith(label))
    return any(not rest or (rest[0] == " " and _are_numbers(rest)) for rest in rests)


def _are_numbers(text: str) -> bool:
    words = text.split()
    try:
        return bool(words) and all(word == repr(float(word)) for word in words)
    except ValueError:
        return False
