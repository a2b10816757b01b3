"""Models of every kind, and every way to make their files say what cannot be."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load as tensors_of
from safetensors.numpy import save as to_bytes

import maxmargin
from maxmargin.data.features import feature_map

VALUES = [None, True, -1, 0, 10**9, 10**400, 1e308, "x", [], {}, [None], {"a": [[]]}]
APART = 4  # every so many-th of them is tried at one place


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 3))
    return X, np.arange(24) % 3


def fitted(kind: str):
    """A small fitted estimator of a kind."""
    X, y = rows()
    table = {
        "linear": lambda: maxmargin.LinearSVC(class_weight={0: 2.0}).fit(X, y),
        "kernel": lambda: maxmargin.KernelSVC(gamma=0.5).fit(X, y),
        "sparse vectors": lambda: maxmargin.KernelSVC(gamma=0.5).fit(sp.csr_matrix(X), y > 0),
        "precomputed": lambda: maxmargin.KernelSVC(kernel="precomputed").fit(X @ X.T, y > 0),
        "sparse-kernel": lambda: maxmargin.SparseKernelSVC(n_basis=3, gamma=0.5).fit(X, y),
        "sigmoid": lambda: maxmargin.LinearSVC(probability="sigmoid").fit(X, y),
        "isotonic": lambda: maxmargin.KernelSVC(probability="isotonic").fit(X, y),
        "rank": lambda: maxmargin.RankSVM().fit(X, y),
        "ordinal": lambda: maxmargin.OrdinalSVC().fit(X, y),
        "measure": lambda: maxmargin.MeasureSVC("f1").fit(X, y > 0),
        "stream": lambda: maxmargin.StreamSVC().fit(X, y),
        "fourier": lambda: maxmargin.StreamSVC(features=feature_map("fourier:8,gamma=0.5")).fit(
            X, y > 0
        ),
        "strings": lambda: maxmargin.StreamSVC(features=feature_map("char_ngrams:2,bits=8")).fit(
            ["ab", "ba", "abc", "cba"] * 3, [0, 1, 0, 1] * 3
        ),
    }
    return table[kind]()


KINDS = ["linear", "kernel", "sparse vectors", "precomputed", "sparse-kernel", "rank", "ordinal"]
KINDS += ["sigmoid", "isotonic", "measure", "stream", "fourier", "strings"]


def read(path) -> tuple[dict, dict]:
    """Tensors and header of a model file."""
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    metadata = json.loads(whole[8 : 8 + length])["__metadata__"]
    return tensors_of(whole), json.loads(metadata["maxmargin"])


def write(path, tensors: dict, header: object) -> None:
    """A file with right sizes and offsets, whatever its header says."""
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(to_bytes(tensors, metadata={"maxmargin": text}))


def damaged_headers(header: dict) -> Iterator[tuple[str, dict]]:
    """The header with every value left out, and replaced by others in turn: the next ones at the
    next place, so that a kind of place sees them all."""
    for number, place in enumerate(_places(header)):
        for value in VALUES[number % APART :: APART]:
            changed = copy.deepcopy(header)
            _parent(changed, place)[place[-1]] = value
            yield f"{place} = {str(value)[:20]!r}", changed
        changed = copy.deepcopy(header)
        del _parent(changed, place)[place[-1]]
        yield f"no {place}", changed


def damaged_tensors(tensors: dict) -> Iterator[tuple[str, dict]]:
    """The tensors with one of another type, shape or value, or left out."""
    for name, tensor in tensors.items():
        yield f"no {name}", {key: value for key, value in tensors.items() if key != name}
        for how, changed in _changed(tensor):
            yield f"{name} {how}", {**tensors, name: np.ascontiguousarray(changed)}
    yield "one more", {**tensors, "more": np.zeros(1)}
    yield "none", {"nothing": np.zeros(1)}


def _changed(tensor: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for dtype in ("float16", "float32", "int8", "int64", "uint64", "bool"):
        if tensor.dtype != dtype:
            yield f"as {dtype}", tensor.astype(dtype)
    yield "flat", tensor.reshape(-1)[: tensor.size // 2]
    yield "empty", tensor.reshape(-1)[:0]
    yield "empty rows", tensor[:0]
    yield "one row more", np.concatenate([tensor, tensor[-1:]])
    yield "deeper", tensor[None]
    yield "scalar", np.asarray(tensor.reshape(-1)[0])
    if tensor.ndim == 2:
        yield "turned", tensor.T
        yield "no columns", tensor[:, :0]
    for value in (np.nan, np.inf, -1e300) if tensor.dtype.kind == "f" else (-1, 2**62, 2**40):
        wrong = tensor.copy()
        with np.errstate(over="ignore"):
            wrong.reshape(-1)[-1:] = value
        yield f"with {value}", wrong


def _places(value: object, above: tuple = ()) -> Iterator[tuple]:
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value[:2]))
    else:
        return
    for key, item in items:
        yield (*above, key)
        yield from _places(item, (*above, key))


def _parent(header, place):
    for key in place[:-1]:
        header = header[key]
    return header
