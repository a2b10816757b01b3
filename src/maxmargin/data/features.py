"""Features made on the fly: compact rows are stored, and expanded when they are used.

A map is named (``"weighted_degree:8"``, ``"word_ngrams:2,bits=22"``) or an instance of a class of
this file. A map of your own is a callable that takes the rows of a block (ndarray, CSR matrix or
`Strings`) and returns as many rows of numbers, an ndarray or a CSR matrix, always as wide.

Where the expansion is done:

    weighted degree, n-grams, pairs    by the core, each time a row is used: the cache holds compact
                                       rows, so more of them
    random Fourier features, own maps  when a block is read: the cache holds what the map gave
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, view
from maxmargin.data.stream.blocks import Strings

MOST_BITS = 31
CHUNK_ROWS = 4096  # made or scored at a time


class Seen:
    """What maps may have to know of the training rows: letters, length of the first string, d."""

    def __init__(self, d: int = 0) -> None:
        self.letters = np.zeros(256, dtype=np.int64)  # how often each byte was seen
        self.length: int | None = None
        self.d = d

    def add(self, X: Any) -> Seen:
        """One more block of rows."""
        if isinstance(X, Strings) and X.shape[0]:
            if self.length is None:
                self.length = int(X.starts[1] - X.starts[0])
            self.letters += np.bincount(X.letters[X.starts[0] : X.starts[-1]], minlength=256)
        self.d = max(self.d, X.shape[1])
        return self


@dataclass(frozen=True)
class FeatureMap:
    """What all maps have. Subclasses say what they `takes` and how they expand."""

    name: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ()  # kinds of sources
    learns: ClassVar[bool] = False  # whether it has to see the rows before training

    def check_kind(self, kind: str, name: str) -> None:
        """Refuse rows that the map cannot take."""
        if kind not in self.takes:
            raise ValueError(
                f"{name}: has {_SAID[kind]}, but the features {self.name!r} are for "
                f"{' or '.join(_SAID[k] for k in self.takes)}"
            )

    def learned(self, seen: Seen) -> FeatureMap:
        """The map, with what it has to know of the training rows."""
        return self

    def at_reading(self, X: Any) -> Any:
        """Rows as they are cached."""
        return X

    def in_core(self, d: int) -> _core.FeatureMap | None:
        """The expansion of cached rows; None if they are features already."""
        return None

    def transform(self, X: Any) -> Any:
        """All features of X as a CSR matrix or an array: for small data, and for tests."""
        X = self.at_reading(X)
        core = self.in_core(X.shape[1])
        if core is None:
            return X
        parts = [_expanded(part, core) for part in _parts(X)]
        return sp.vstack(parts, format="csr") if parts else sp.csr_matrix((0, core.d))

    def scores(self, X: Any, coef: np.ndarray, pool: _core.Pool) -> np.ndarray:
        """``phi(X) coef^T``, the features of a few rows at a time."""
        scores = np.empty((X.shape[0], len(coef)), order="F")
        begin = 0
        for part in _parts(X):
            made = self.at_reading(part)
            end = begin + made.shape[0]
            core = self.in_core(made.shape[1])
            packed = None if core is None else _packed(made, core)
            for j, w in enumerate(coef):
                if packed is None:
                    scores[begin:end, j] = ArrayRows(made, pool=pool).matvec(w)
                else:
                    _core.score_block(*packed, w, scores[begin:end, j], pool)
            begin = end
        return scores

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Plain values and arrays from which `unpack` makes the map again."""
        return {"name": self.name, **asdict(self)}, {}


_SAID = {"dense": "dense rows", "csr": "sparse rows", "strings": "strings"}


def _parts(X: Any) -> Iterator[Any]:
    for begin in range(0, X.shape[0], CHUNK_ROWS):
        end = min(begin + CHUNK_ROWS, X.shape[0])
        if isinstance(X, Strings):
            yield Strings(X.letters, X.starts[begin : end + 1])
        else:
            yield X[begin:end]


def _packed(X: Any, core: _core.FeatureMap) -> tuple[_core.PackedBlock, _core.Format]:
    """Compact rows as the core takes them, without labels."""
    n = X.shape[0]
    codes, costs = np.zeros(n, np.int32), np.ones(n)
    if isinstance(X, Strings):
        format = _core.string_format(0.0, core)
        return _core.pack_strings(X.letters, X.starts, 0, codes, costs, format), format
    rows = view(X, 0.0)
    format = _core.row_format(rows, 0.0, core)
    return _core.pack_rows(rows, 0, codes, costs, format), format


def _expanded(X: Any, core: _core.FeatureMap) -> sp.csr_matrix:
    parts = _core.expand_block(*_packed(X, core))
    return sp.csr_matrix(parts, shape=(X.shape[0], core.d))


# ---------------------------------------------------------------- strings


@dataclass(frozen=True)
class WeightedDegree(FeatureMap):
    """Weighted degree kernel on strings of one length: ``sum_k beta_k #{p : same substring}``.

    The substring of length k = 1..degree at position p is one feature, of value sqrt(beta_k),
    ``beta_k = 2 (K - k + 1) / (K (K + 1))``; rows are scaled to length 1.

    Parameters
    ----------
    degree : int
    alphabet : str, optional
        All letters there may be; by default those found in the training rows.
    bits : int
        0: every feature has its own place, ``sum_k (L - k + 1) A^k`` in all. Else places are
        hashed into 2^bits, with a sign.
    length : int, optional
        Of the strings; found in the training rows.
    """

    name: ClassVar[str] = "weighted_degree"
    takes: ClassVar[tuple[str, ...]] = ("strings",)
    learns: ClassVar[bool] = True
    degree: int = 8
    alphabet: str | None = None
    bits: int = 0
    length: int | None = None

    def __post_init__(self) -> None:
        _check_whole("degree", self.degree, 1, 64)
        _check_whole("bits", self.bits, 0, MOST_BITS)
        if self.alphabet is not None and not (
            isinstance(self.alphabet, str) and 1 <= len(set(self.alphabet)) == len(self.alphabet)
        ):
            raise ValueError(f"alphabet must be distinct letters; got {self.alphabet!r}")
        if self.length is not None:
            _check_whole("length", self.length, 1, 1 << 31)

    def learned(self, seen: Seen) -> WeightedDegree:
        length = self.length if self.length is not None else seen.length
        if length is not None and length < self.degree:
            raise ValueError(
                f"the strings have {length} letters, fewer than the degree {self.degree}: take a "
                "lower degree"
            )
        found = bytes(np.flatnonzero(seen.letters).tolist()).decode("latin-1")
        return replace(self, length=length, alphabet=self.alphabet or found)

    def in_core(self, d: int) -> _core.FeatureMap:
        if self.length is None or self.alphabet is None:
            raise ValueError(
                "the map has seen no strings yet: call learned(Seen().add(strings)) first"
            )
        letters = np.frombuffer(self.alphabet.encode("latin-1"), np.uint8)
        wide = _core.WeightedDegree.dimensions(len(letters), self.length, self.degree)
        if not self.bits and wide > 2**MOST_BITS:
            raise ValueError(
                f"degree {self.degree} on {self.length} letters of an alphabet of {len(letters)} "
                f"has {wide:.3g} features: hash them (bits=24, say), take a lower degree, or name "
                "a smaller alphabet"
            )
        return _core.WeightedDegree(letters, self.length, self.degree, self.bits)


@dataclass(frozen=True)
class _Ngrams(FeatureMap):
    takes: ClassVar[tuple[str, ...]] = ("strings",)
    n: int = 1
    bits: int = 20

    def __post_init__(self) -> None:
        _check_whole("n", self.n, 1, 64)
        _check_whole("bits", self.bits, 1, MOST_BITS)


@dataclass(frozen=True)
class WordNgrams(_Ngrams):
    """Sequences of 1..n words, in lower case, counted in 2^bits hashed signed places; length 1."""

    name: ClassVar[str] = "word_ngrams"

    def in_core(self, d: int) -> _core.FeatureMap:
        return _core.Ngrams(_core.Unit.word, self.n, self.bits)


@dataclass(frozen=True)
class CharNgrams(_Ngrams):
    """Sequences of 1..n bytes, counted in 2^bits hashed signed places; rows have length 1."""

    name: ClassVar[str] = "char_ngrams"

    def in_core(self, d: int) -> _core.FeatureMap:
        return _core.Ngrams(_core.Unit.byte, self.n, self.bits)


# ---------------------------------------------------------------- numbers


@dataclass(frozen=True)
class Pairs(FeatureMap):
    """``<phi(x), phi(z)> = (1 + <x, z>)^2 - 1``, but for collisions in 2^bits hashed places."""

    name: ClassVar[str] = "pairs"
    takes: ClassVar[tuple[str, ...]] = ("dense", "csr")
    bits: int = 20

    def __post_init__(self) -> None:
        _check_whole("bits", self.bits, 1, MOST_BITS)

    def in_core(self, d: int) -> _core.FeatureMap:
        return _core.Pairs(self.bits)


@dataclass(frozen=True)
class Fourier(FeatureMap):
    """Random Fourier features: ``<phi(x), phi(z)>`` is near ``exp(-gamma ||x - z||^2)``.

        phi_j(x) = sqrt(2 / n) cos(<omega_j, x> + b_j),   omega_j ~ N(0, 2 gamma), b_j ~ U(0, 2 pi)

    Parameters
    ----------
    n : int
        Features; the error of the kernel falls as 1 / sqrt(n).
    gamma : float
    seed : int
    """

    name: ClassVar[str] = "fourier"
    takes: ClassVar[tuple[str, ...]] = ("dense", "csr")
    learns: ClassVar[bool] = True
    n: int = 1000
    gamma: float = 1.0
    seed: int = 0
    omega: np.ndarray | None = field(default=None, compare=False, repr=False)
    phase: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_whole("n", self.n, 1, 1 << 24)
        _check_whole("seed", self.seed, 0, 1 << 62)
        if not isinstance(self.gamma, numbers.Real) or not 0 < self.gamma <= sys.float_info.max:
            raise ValueError(f"gamma must be a positive number; got {self.gamma!r}")

    def learned(self, seen: Seen) -> Fourier:
        if self.omega is not None:
            return self
        random = np.random.default_rng(self.seed)
        omega = random.normal(scale=np.sqrt(2 * self.gamma), size=(seen.d, self.n))
        phase = random.uniform(0, 2 * np.pi, self.n)
        return replace(self, omega=omega.astype(np.float32), phase=phase.astype(np.float32))

    def at_reading(self, X: Any) -> np.ndarray:
        if self.omega is None or self.phase is None:
            raise ValueError("the map has no frequencies yet: call learned(Seen().add(X)) first")
        if X.shape[1] != len(self.omega):
            raise ValueError(f"X has {X.shape[1]} columns; the map was made for {len(self.omega)}")
        angles = np.asarray(X @ self.omega, dtype=np.float32)
        angles += self.phase
        np.cos(angles, out=angles)
        angles *= np.float32(np.sqrt(2.0 / self.n))
        return angles

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        plain = {"name": self.name, "n": self.n, "gamma": self.gamma, "seed": self.seed}
        if self.omega is None or self.phase is None:
            return plain, {}
        return plain, {"omega": self.omega, "phase": self.phase}


@dataclass(frozen=True)
class Own(FeatureMap):
    """A map of the user's: any callable from the rows of a block to as many rows of numbers."""

    name: ClassVar[str] = "own"
    takes: ClassVar[tuple[str, ...]] = ("dense", "csr", "strings")
    function: Callable[[Any], Any] = field(default=lambda X: X)

    def at_reading(self, X: Any) -> Any:
        made = self.function(X)
        if not (hasattr(made, "shape") and len(made.shape) == 2 and made.shape[0] == X.shape[0]):
            raise ValueError(
                f"the feature map returned {type(made).__name__} of shape "
                f"{getattr(made, 'shape', None)} for {X.shape[0]} rows; expected an array or CSR "
                "matrix with as many rows"
            )
        return made.tocsr() if sp.issparse(made) else np.asarray(made)

    def packed(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        raise ValueError(
            f"a model with a feature map of one's own ({self.function!r}) cannot be saved: a file "
            "holds no code. Apply the map to the data and train without it, or keep coef_"
        )


MAPS: dict[str, type[FeatureMap]] = {
    kind.name: kind for kind in (WeightedDegree, WordNgrams, CharNgrams, Pairs, Fourier)
}
_FIRST = {"weighted_degree": "degree", "word_ngrams": "n", "char_ngrams": "n", "pairs": "bits"}
_TYPES: dict[str, Callable[[str], Any]] = {"alphabet": str, "gamma": float}


def feature_map(features: Any) -> FeatureMap | None:
    """The map that `features` means: None, a name, a `FeatureMap` or a callable.

    Examples
    --------
    >>> feature_map("weighted_degree:4,alphabet=ACGT")
    WeightedDegree(degree=4, alphabet='ACGT', bits=0, length=None)
    """
    if features is None or isinstance(features, FeatureMap):
        return features
    if callable(features):
        return Own(features)
    if not isinstance(features, str):
        raise ValueError(
            f"features must be None, a name such as 'weighted_degree:8', a map of "
            f"maxmargin.data.features or a callable; got {features!r}"
        )
    name, _, rest = features.partition(":")
    if name not in MAPS:
        raise ValueError(f"features {features!r}: {name!r} is none of {', '.join(MAPS)}")
    first = _FIRST.get(name, "n")
    options: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, text = item.partition("=")
        if not equals:
            key, text = first, item
        known = [f.name for f in fields(MAPS[name]) if f.name not in ("omega", "phase", "length")]
        if key not in known:
            raise ValueError(f"features {features!r}: {key!r} is none of {', '.join(known)}")
        try:
            options[key] = _TYPES.get(key, int)(text)
        except ValueError as error:
            raise ValueError(f"features {features!r}: {text!r} is no number for {key}") from error
    return MAPS[name](**options)


def unpack(plain: object, arrays: dict[str, np.ndarray]) -> FeatureMap:
    """The map that `packed` was asked of; ValueError where these cannot be one."""
    if not isinstance(plain, dict) or str(plain.get("name")) not in MAPS:
        raise ValueError("its feature map is unknown")
    kind = MAPS[plain["name"]]
    known = {f.name for f in fields(kind)} - {"omega", "phase"}
    values = {key: value for key, value in plain.items() if key != "name"}
    if set(values) != known:
        raise ValueError(f"its feature map has the values {sorted(values)}; expected {known}")
    if kind is Fourier:
        _check_frequencies(values, arrays)
        frequencies: dict[str, Any] = {**arrays}
        return Fourier(**values, **frequencies)
    if arrays:
        raise ValueError("its feature map has arrays that do not belong to it")
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"its feature map is damaged ({error})") from error


def _check_frequencies(values: dict, arrays: dict[str, np.ndarray]) -> None:
    omega, phase, n = arrays.get("omega"), arrays.get("phase"), values.get("n")
    if omega is None or phase is None or omega.ndim != 2:
        raise ValueError("its Fourier features lack their frequencies")
    if omega.dtype != np.float32 or phase.dtype != np.float32:
        raise ValueError("its frequencies are not float32")
    if omega.shape[1] != n or phase.shape != (n,):
        raise ValueError("its frequencies have another number than its features")
    if not (np.isfinite(omega).all() and np.isfinite(phase).all()):
        raise ValueError("its frequencies hold NaN or infinity")


def _check_whole(name: str, value: Any, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}; got {value!r}")
