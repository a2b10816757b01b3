"""Models on disk: one safetensors file, its header holding JSON metadata. Nothing in it can run.

    tensors       the arrays, as safetensors describes them
    __metadata__  {"maxmargin": JSON of {format, version, kind, maxmargin, content}}

`content` is what a model keeps besides arrays. Models are known by their `kind`
(`maxmargin.models.base`), and the estimator that predicts with one registers itself
(`register_estimator`); this file knows neither.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from maxmargin.data.atomic_files import write_atomically
from maxmargin.data.outputs import Kind as OutputKind
from maxmargin.data.outputs import check_output
from maxmargin.models.base import Model, kinds
from maxmargin.models.contents import Tensors

FORMAT = "maxmargin model"
VERSION = 1
MAX_HEADER = 100_000_000  # bytes; the limit of the safetensors format

# Parameters that say what a run may use of a machine, rather than what it computes. A file may come
# from a stranger, so it does not decide how many threads run or which files are written.
RESOURCES = frozenset(
    {"n_jobs", "memory", "max_time", "verbose", "checkpoint", "checkpoint_every", "alpha_file"}
)

_estimators: dict[str, Callable[[Any], Any]] = {}


def register_estimator(kind: str, from_model: Callable[[Any], Any]) -> None:
    """Let `load` turn models of this kind into fitted estimators."""
    _estimators[kind] = from_model


def wrapped(model: Any) -> Any:
    """The fitted estimator of a model, whose class has registered itself."""
    return _estimators[kind_of(model)](model)


def kind_of(model: object) -> str:
    """The registered name of a model's kind."""
    if isinstance(model, Model) and "kind" in type(model).__dict__:
        return model.kind
    raise ValueError(
        f"cannot save a {type(model).__name__}: expected a fitted maxmargin estimator or model "
        f"(kinds: {', '.join(sorted(kinds()))})"
    )


def save(model: Any, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a model, or the model of a fitted estimator (its `to_model()`), to one file.

    The file appears whole or not at all. It replaces an earlier model, and any other file only if
    told to `overwrite` it. Callbacks, random generators and resources (`n_jobs`,
    `memory`, `max_time`, ...) are not kept.
    """
    from safetensors.numpy import save as to_bytes

    import maxmargin

    if hasattr(model, "to_model"):
        model = model.to_model()
    check_output(path, MODEL_FILE, force=overwrite, override="overwrite=True")
    kind = kind_of(model)
    tensors, content = model.pack()
    content = _without_resources(content)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "maxmargin": maxmargin.__version__,
        "content": content,
    }
    # One metadata entry: safetensors writes several in arbitrary order, and equal models should
    # give equal files.
    metadata = {"maxmargin": json.dumps(header, allow_nan=False, sort_keys=True)}
    contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    with write_atomically(path) as file:
        file.write(to_bytes(contiguous, metadata=metadata))


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted estimator from a model file; safe with files from strangers.

    Resources (`n_jobs`, `memory`, `max_time`, ...) are this machine's, not the file's: they have
    their defaults.

    Raises
    ------
    ValueError
        The file is no model, is cut short, contradicts itself, or needs a newer maxmargin.
    """
    model = load_model(path)
    kind = kind_of(model)
    if kind not in _estimators:
        raise ValueError(f"cannot load {path}: this maxmargin has no estimator for {kind!r} models")
    with _blaming(path):
        return _estimators[kind](model)


def load_model(path: str | os.PathLike[str]) -> Any:
    """The model in a file of maxmargin, LIBLINEAR or LIBSVM (told apart by content), without an
    estimator."""
    from maxmargin.models import liblinear_text, libsvm_reading

    with open(path, "rb") as file:
        start = file.read(64)
    if liblinear_text.looks_like(start):
        return liblinear_text.read(path)
    if libsvm_reading.looks_like(start):
        return libsvm_reading.read(path)
    with _blaming(path):
        tensors, header = _read(path)
        kind = kinds()[_checked_kind(header)]
        return kind.unpack(tensors, _without_resources(header["content"]))


@contextmanager
def _blaming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Names the file in whatever its contents lead to: a stranger may have written anything."""
    try:
        yield
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        found = error if isinstance(error, ValueError) else f"its contents are damaged ({error!r})"
        raise ValueError(
            f"cannot load {os.fspath(path)}: {found}; expected a file written by maxmargin's save "
            "or `maxmargin train`, or a LIBLINEAR text model: write it again"
        ) from error


def _without_resources(content: dict[str, Any]) -> dict[str, Any]:
    parameters = content.get("parameters")
    if not isinstance(parameters, dict):
        return content
    kept = {name: value for name, value in parameters.items() if name not in RESOURCES}
    return {**content, "parameters": kept}


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as those that `save` writes."""
    with open(path, "rb") as file:
        return file.read(64)[8:].startswith(b'{"__metadata__":{"maxmargin":')


MODEL_FILE = OutputKind("a maxmargin model", is_ours)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a model (of ours, LIBLINEAR or LIBSVM) rather than data."""
    from maxmargin.models import liblinear_text, libsvm_reading

    with open(path, "rb") as file:
        start = file.read(64)
    if liblinear_text.looks_like(start) or libsvm_reading.looks_like(start):
        return True
    # A safetensors file starts with the length of a JSON object, whose high bytes are zero.
    return len(start) > 9 and start[6:8] == b"\0\0" and start[8:9] == b"{"


def _read(path: str | os.PathLike[str]) -> tuple[Tensors, dict[str, Any]]:
    """Tensors and our header, from one read: a mapped file could be cut while it is looked at."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as tensors_of

    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 10 or file.read(1) != b"{":
            raise ValueError("it is not a model file")
        if length > min(size - 8, MAX_HEADER):
            raise ValueError(f"its header claims {length} bytes but the file has {size}")
        file.seek(0)
        whole = file.read()
    try:
        tensors = tensors_of(whole)
        metadata = json.loads(whole[8 : 8 + length]).get("__metadata__") or {}
    except (SafetensorError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"its contents do not match its header ({error})") from error
    if "maxmargin" not in metadata:
        raise ValueError("it is a safetensors file but not a maxmargin model")
    return tensors, _parse(metadata["maxmargin"])


def _parse(text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"its metadata holds {constant}, which is no finite number")

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"its metadata says {twice[:40]!r} twice")
        return dict(pairs)

    try:
        header = json.loads(text, parse_constant=refuse, object_pairs_hook=distinct)
    except RecursionError as error:
        raise ValueError("its metadata is nested absurdly deep") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"its metadata is not JSON ({error})") from error
    if not isinstance(header, dict):
        raise ValueError("its metadata is not a JSON object")
    return header


def _checked_kind(header: dict[str, Any]) -> str:
    version, kind = header.get("version"), header.get("kind")
    if header.get("format") != FORMAT or type(version) is not int or version < 1:
        raise ValueError("its metadata does not name a maxmargin format and version")
    if version > VERSION:
        raise ValueError(
            f"it has format version {version} (written by maxmargin {header.get('maxmargin')}) and "
            f"this maxmargin reads up to {VERSION}: upgrade maxmargin"
        )
    if not isinstance(kind, str) or kind not in kinds():
        raise ValueError(f"it holds a model of unknown kind {kind!r} (known: {sorted(kinds())})")
    if not isinstance(header.get("content"), dict):
        raise ValueError("its metadata has no content")
    return kind
