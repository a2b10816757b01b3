"""Class labels as plain JSON values and back, keeping their type."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

NUMBERS = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"} | {
    "float32",
    "float64",
}


def pack_classes(classes: np.ndarray) -> dict[str, Any]:
    """``{"dtype": ..., "values": [...]}`` for an array of numbers or strings."""
    classes = np.asarray(classes)
    if classes.dtype.kind == "U":
        return {"dtype": "str", "values": classes.tolist()}
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        return {"dtype": "object", "values": [str(label) for label in classes]}
    if classes.dtype.name not in NUMBERS:
        raise ValueError(
            f"classes must be numbers or strings to be saved; got {classes.dtype} "
            f"with {classes[:3].tolist()!r}: convert y to one of them and fit again"
        )
    return {"dtype": classes.dtype.name, "values": classes.tolist()}


def unpack_classes(packed: object, any_order: bool = False) -> np.ndarray:
    """The array that `pack_classes` was given; ValueError where `packed` cannot be one.

    Classes are in increasing order, unless they may be in `any_order`.
    """
    if not isinstance(packed, dict) or not isinstance(packed.get("values"), list):
        raise ValueError("its classes are not a list")
    dtype, values = packed.get("dtype"), packed["values"]
    if not isinstance(dtype, str):
        raise ValueError("its classes have no type")
    if dtype in ("str", "object"):
        wanted: tuple[type, ...] = (str,)
    elif dtype == "bool":
        wanted = (bool,)
    elif dtype in NUMBERS:
        wanted = (float,) if dtype.startswith("float") else (int,)
    else:
        raise ValueError(f"its classes have the unknown type {dtype!r}")
    if not all(type(value) in wanted for value in values):
        raise ValueError(f"its classes are not all of type {dtype}")
    try:
        classes = np.array(values, dtype=dtype)
    except OverflowError as error:
        raise ValueError(f"its classes do not fit the type {dtype}") from error
    if dtype.startswith("float") and not np.isfinite(classes).all():
        raise ValueError("its classes are not finite numbers")
    if any_order and len(set(values)) < len(values):
        raise ValueError("its classes are not distinct")
    if not any_order and not all(a < b for a, b in pairwise(values)):
        raise ValueError("its classes are not distinct and in increasing order")
    return classes


def whole_numbers(classes: np.ndarray) -> np.ndarray:
    """Labels like 1.0 and -1.0 as the integers they are; any others unchanged."""
    classes = np.asarray(classes)
    if classes.dtype.kind == "f" and np.all(np.abs(classes) < 2**53):
        whole = classes.astype(np.int64)
        if np.array_equal(whole, classes):
            return whole
    return classes
