"""How the fields of a model become the tensors and JSON of a file, and back.

A model declares for each field what it is (`stored(Floats(2))`), and that is all there is to its
file. What is read may come from anyone: every `unpack` checks type, shape and number, and raises
ValueError saying what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.models.labels import pack_classes, unpack_classes
from maxmargin.problem import Certificate, Status

Tensors = dict[str, np.ndarray]
Scalar = None | bool | int | float | str
FLOATS = (np.float64, np.float32)


@dataclass
class Contents:
    """What a file holds. `take` removes tensors, so that those nobody asked for remain."""

    tensors: Tensors
    plain: dict[str, Any]

    def take(self, name: str, ndim: int, dtypes: tuple[Any, ...] = (np.float64,)) -> np.ndarray:
        """The finite tensor of this name, type and number of dimensions."""
        tensor = self.tensors.pop(name, None)
        if tensor is None:
            raise ValueError(f"its {name} is missing: it holds the tensors {sorted(self.tensors)}")
        if tensor.ndim != ndim or tensor.dtype not in dtypes:
            found, wanted = f"{tensor.dtype} with shape {tensor.shape}", np.dtype(dtypes[0])
            raise ValueError(f"its {name} is {found}, not {wanted} {ndim}-d")
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            raise ValueError(f"its {name} holds NaN or infinity")
        return tensor


class Field:
    """A kind of field: plain JSON unless a subclass says otherwise."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = value

    def unpack(self, name: str, found: Contents) -> Any:
        raise NotImplementedError


def stored(kind: Field, default: Any = MISSING, default_factory: Any = MISSING) -> Any:
    """A field of a model, with its form in a file."""
    options = {"default": default, "default_factory": default_factory}
    known = {name: value for name, value in options.items() if value is not MISSING}
    return field(metadata={"stored": kind}, **known)


def stored_fields(model: Any) -> dict[str, Field]:
    """Each stored field of a model or of its class, with its form."""
    return {f.name: f.metadata["stored"] for f in fields(model) if "stored" in f.metadata}


# ---------------------------------------------------------------- arrays


@dataclass(frozen=True)
class Floats(Field):
    """A float64 array of finite numbers."""

    ndim: int
    optional: bool = False

    def pack(self, name: str, value: Any, into: Contents) -> None:
        if value is None and self.optional:
            return
        array = np.asarray(value, dtype=np.float64)
        if not np.isfinite(array).all():
            raise ValueError(
                f"cannot save the model: its {name} holds NaN or infinity; fit it again"
            )
        into.tensors[name] = array

    def unpack(self, name: str, found: Contents) -> Any:
        if self.optional and name not in found.tensors:
            return None
        return found.take(name, self.ndim)


class Positions(Field):
    """Indices from 0 on, as int64."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.tensors[name] = np.asarray(value, dtype=np.int64)

    def unpack(self, name: str, found: Contents) -> np.ndarray:
        positions = found.take(name, 1, (np.int64,))
        if np.any(positions < 0):
            raise ValueError(f"its {name} has negative positions")
        return positions


@dataclass(frozen=True)
class Vectors(Field):
    """Rows of numbers, dense or CSR, with as many columns as the file says there are features."""

    optional: bool = False

    def pack(self, name: str, value: Any, into: Contents) -> None:
        if value is None and self.optional:
            return
        into.plain["n_features"] = int(value.shape[1])
        if not sp.issparse(value):
            into.tensors[name] = np.asarray(value)
            return
        rows = value.tocsr()
        into.tensors[f"{name}.data"] = rows.data
        into.tensors[f"{name}.indices"] = rows.indices.astype(np.int64)
        into.tensors[f"{name}.starts"] = rows.indptr.astype(np.int64)

    def unpack(self, name: str, found: Contents) -> Any:
        d = COUNT.unpack("n_features", found)
        if name in found.tensors:
            rows = found.take(name, 2, FLOATS)
            if rows.shape[1] != d:
                raise ValueError(f"its {name} have {rows.shape[1]} columns, not {d}")
            return rows
        if self.optional and f"{name}.data" not in found.tensors:
            return None
        data = found.take(f"{name}.data", 1, FLOATS)
        indices, starts = (found.take(f"{name}.{part}", 1, (np.int64,)) for part in CSR_PARTS)
        if not (
            len(starts) > 0
            and len(data) == len(indices)
            and starts[0] == 0
            and starts[-1] == len(data)
            and np.all(np.diff(starts) >= 0)
            and np.all((indices >= 0) & (indices < d))
        ):
            raise ValueError(f"its sparse {name} contradict themselves")
        return sp.csr_matrix((data, indices, starts), shape=(len(starts) - 1, d))


CSR_PARTS = ("indices", "starts")


# ---------------------------------------------------------------- plain values


class Count(Field):
    """A positive whole number that a matrix can have of columns."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = int(value)

    def unpack(self, name: str, found: Contents) -> int:
        value = found.plain.get(name)
        if type(value) is not int or not 1 <= value < 2**62:
            raise ValueError(f"its {name} is {value!r}, not a positive whole number")
        return value


COUNT = Count()


@dataclass(frozen=True)
class Words(Field):
    """Text; one of `choices` if there are any."""

    choices: tuple[str, ...] = ()

    def unpack(self, name: str, found: Contents) -> str:
        value = found.plain.get(name)
        if not isinstance(value, str) or (self.choices and value not in self.choices):
            wanted = f"one of {', '.join(self.choices)}" if self.choices else "text"
            raise ValueError(f"its {name} is {value!r}, not {wanted}")
        return value


@dataclass(frozen=True)
class Classes(Field):
    """Labels with their type, in increasing order unless they may be in `any_order`."""

    any_order: bool = False

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = pack_classes(value)

    def unpack(self, name: str, found: Contents) -> np.ndarray:
        return unpack_classes(found.plain.get(name), self.any_order)


class Names(Field):
    """Names of the features, or None."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = None if value is None else list(value)

    def unpack(self, name: str, found: Contents) -> tuple[str, ...] | None:
        names = found.plain.get(name)
        if names is None:
            return None
        if not (isinstance(names, list) and all(isinstance(item, str) for item in names)):
            raise ValueError("its feature names are not a list of strings")
        return tuple(names)


class IndexBase(Field):
    """0, 1 or None."""

    def unpack(self, name: str, found: Contents) -> int | None:
        base = found.plain.get(name)
        if base not in (None, 0, 1) or isinstance(base, bool):
            raise ValueError(f"its index base is {base!r}, not 0 or 1")
        return base


class Encoding(Field):
    """How the columns of a table become features, or None. It knows their names."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        if value is None:
            return
        from maxmargin.data.encoding.packing import pack  # it needs pyarrow, slow to import

        into.plain[name] = pack(value)
        into.plain["feature_names"] = None

    def unpack(self, name: str, found: Contents) -> Any:
        if found.plain.get(name) is None:
            return None
        from maxmargin.data.encoding.packing import unpack

        return unpack(found.plain[name])


class Parameters(Field):
    """Parameters of an estimator: plain values, lists of them, and mappings."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = {key: pack_value(item) for key, item in value.items()}

    def unpack(self, name: str, found: Contents) -> dict[str, Any]:
        packed = found.plain.get(name)
        if not isinstance(packed, dict):
            raise ValueError("its parameters are missing")
        return {key: unpack_value(key, item) for key, item in packed.items()}


def pack_value(value: object) -> object:
    """JSON types as they are; mappings (class weights) as pairs, as JSON keys are only strings."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {"pairs": [[pack_value(key), pack_value(item)] for key, item in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence):
        return {"list": [pack_value(item) for item in value]}
    raise ValueError(
        f"cannot save the parameter value {value!r}: expected a number, text, list or mapping"
    )


def unpack_value(name: str, packed: object) -> Scalar | dict[str, Any] | list[Any]:
    if packed is None or isinstance(packed, (bool, int, float, str)):
        return packed
    pairs = packed.get("pairs") if isinstance(packed, dict) else None
    items = packed.get("list") if isinstance(packed, dict) else None
    plain = (bool, int, float, str)
    if isinstance(items, list) and all(isinstance(item, plain) for item in items):
        return items
    if isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(v, plain) for v in pair)
        for pair in pairs
    ):
        return dict(pairs)
    raise ValueError(f"its parameter {name!r} is neither a plain value nor a list or mapping")


# ---------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Certificates(Field):
    """One certificate of a type for each problem, or none."""

    kind: type[Certificate] = Certificate

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name] = [certificate.as_dict() for certificate in value]

    def unpack(self, name: str, found: Contents) -> tuple[Certificate, ...]:
        packed = found.plain.get(name)
        if not isinstance(packed, list):
            raise ValueError("its certificates are missing")
        return tuple(self._one(item) for item in packed)

    def _one(self, packed: Any) -> Certificate:
        names = [f.name for f in fields(self.kind) if f.name != "tol"]
        reading: dict[str, Any] = dict.fromkeys(names, finite) | {"status": Status, "n_iter": int}
        try:
            values = {name: reading[name](packed[name]) for name in names}
            return self.kind(**values, tol=unpack_tol(packed.get("tol")))
        except (TypeError, KeyError, ValueError, OverflowError, AttributeError) as error:
            raise ValueError(f"its certificate is damaged ({error!r})") from error


def finite(value: Any) -> float:
    """A number that float64 holds."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("NaN or infinity")
    return number


def unpack_tol(packed: object) -> float | None:
    """The tolerance; files of earlier versions do not say it."""
    if packed is None:
        return None
    if isinstance(packed, bool) or not isinstance(packed, int | float) or not 0 <= packed < 1e300:
        raise ValueError(f"its tolerance is {packed!r}, not a number")
    return float(packed)
