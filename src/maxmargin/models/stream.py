"""What is kept of a machine trained on a stream: a linear model, and the map that makes features.

``f_j(x) = <w_j, phi(x)> + b_j``
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.features import FeatureMap, unpack
from maxmargin.data.stream.array_source import ArraySource, texts_of
from maxmargin.data.stream.blocks import Strings
from maxmargin.models.contents import Contents, Field, Floats, Words, stored
from maxmargin.models.linear import LinearModel, LinearScores
from maxmargin.models.regression import RegressionModel

FEW = 4  # one number of so many at most is not 0 where a matrix is stored by its others
MOST_NUMBERS = 1 << 36  # that a file may ask for by their places


class StoredMap(Field):
    """A feature map or None: plain values, and arrays whose names begin with the field's."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        into.plain[name], arrays = (None, {}) if value is None else value.packed()
        into.tensors.update({f"{name}.{key}": array for key, array in arrays.items()})

    def unpack(self, name: str, found: Contents) -> FeatureMap | None:
        if found.plain.get(name) is None:
            return None
        own = [key for key in found.tensors if key.startswith(f"{name}.")]
        arrays = {key.removeprefix(f"{name}."): found.tensors.pop(key) for key in own}
        return unpack(found.plain[name], arrays)


class Columns(Field):
    """A whole number."""

    def unpack(self, name: str, found: Contents) -> int:
        value = found.plain.get(name)
        if type(value) is not int:
            raise ValueError("it does not say what rows it is for")
        return value


class MostlyZeros(Floats):
    """A float64 matrix; of one that is mostly zeros the others, with their places."""

    def pack(self, name: str, value: Any, into: Contents) -> None:
        matrix = np.asarray(value)
        if matrix.size == 0 or np.count_nonzero(matrix) > matrix.size // FEW:
            return super().pack(name, value, into)
        places = np.flatnonzero(matrix)
        super().pack(f"{name}.values", matrix.ravel()[places], into)
        into.tensors[f"{name}.places"] = places.astype(np.int64)
        into.plain[f"{name}_shape"] = list(matrix.shape)

    def unpack(self, name: str, found: Contents) -> Any:
        if f"{name}.values" not in found.tensors:
            return super().unpack(name, found)
        values = found.take(f"{name}.values", 1)
        places = found.take(f"{name}.places", 1, (np.int64,))
        shape: Any = found.plain.get(f"{name}_shape")
        plain = isinstance(shape, list) and len(shape) == self.ndim
        if not plain or not all(type(size) is int and 1 <= size < 1 << 32 for size in shape):
            raise ValueError(f"its {name} has no shape")
        size = math.prod(shape)
        good = len(values) == len(places) and size <= MOST_NUMBERS
        if not (good and np.all(np.diff(places) > 0) and np.all((places >= 0) & (places < size))):
            raise ValueError(f"its sparse {name} contradicts itself")
        try:
            matrix = np.zeros(size)
        except MemoryError:
            raise ValueError(f"its {name} has {size} numbers: too many for memory") from None
        matrix[places] = values
        return matrix.reshape(shape)


@dataclass(frozen=True)
class OnFeatures(LinearScores):
    """A linear model on features made from the rows.

    Parameters
    ----------
    features : FeatureMap or None
        Applied to rows before they are scored.
    rows : {"dense", "csr", "strings"}
        What rows it was trained on.
    d_in : int
        Columns of the rows before the map; 0 for strings.
    """

    coef: np.ndarray = stored(MostlyZeros(2))
    features: FeatureMap | None = stored(StoredMap(), None)
    rows: str = stored(Words(("dense", "csr", "strings")), "csr")
    d_in: int = stored(Columns(), 0)

    @property
    def n_features(self) -> int:
        """Columns of the rows that are given to it."""
        return self.d_in

    def __post_init__(self) -> None:
        if self.rows not in ("dense", "csr", "strings") or self.d_in < 0:
            raise ValueError(f"rows {self.rows!r} of {self.d_in} columns are of no known kind")
        if (self.rows == "strings") != (self.d_in == 0):
            raise ValueError(f"rows {self.rows!r} cannot have {self.d_in} columns")
        super().__post_init__()  # type: ignore[misc]  # of the model that it is mixed into

    def check_loaded(self) -> None:
        """As many coefficients as the map makes features."""
        made: int | None = self.d_in
        if self.features is not None:
            core = self.features.in_core(self.d_in)
            made = core.d if core is not None else getattr(self.features, "n", None)
        if made != self.coef.shape[1]:
            raise ValueError(f"its {self.coef.shape[1]} coefficients do not fit {made} features")

    def scores(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``phi(X) coef^T``, (n, k); a list of texts is one of strings."""
        if self.features is None:
            return super().scores(X, threads)
        if self.encoder is not None:
            X = self.encoder.transform(X)
        texts = texts_of(X)
        if texts or not hasattr(X, "shape"):
            X = texts or X
            X = next(ArraySource(X, block_bytes=1 << 62).blocks()).X if len(X) else no_strings()
        if isinstance(X, Strings) != (self.rows == "strings") or X.shape[1] != self.d_in:
            found = "strings" if isinstance(X, Strings) else f"rows of {X.shape[1]} columns"
            wanted = "strings" if self.rows == "strings" else f"rows of {self.d_in} columns"
            raise ValueError(f"X has {found}, but the model was trained on {wanted}")
        return self.features.scores(X, self.coef, _core.Pool(threads or granted_cpus()))


@dataclass(frozen=True)
class StreamModel(OnFeatures, LinearModel):
    """A linear classifier on features made from the rows.

    Parameters are those of `LinearModel` and `OnFeatures`; `coef` has as many columns as the map
    makes features.
    """

    kind = "stream"


@dataclass(frozen=True)
class StreamRegressionModel(OnFeatures, RegressionModel):
    """A linear regression, or one for each quantile, on features made from the rows.

    Parameters are those of `RegressionModel` and `OnFeatures`.
    """

    kind = "stream-regression"


def no_strings() -> Strings:
    return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))
