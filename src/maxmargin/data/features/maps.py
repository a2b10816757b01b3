"""Maps of texts and numbers: n-grams, pairs, hashing, random Fourier features, and your own."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.features.base import MOST_BITS, FeatureMap, Stats, check_whole


@dataclass(frozen=True)
class _Ngrams(FeatureMap):
    takes: ClassVar[tuple[str, ...]] = ("strings",)
    n: int = 1
    bits: int = 20

    def __post_init__(self) -> None:
        check_whole("n", self.n, 1, 64)
        check_whole("bits", self.bits, 1, MOST_BITS)


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
        check_whole("bits", self.bits, 1, MOST_BITS)

    def in_core(self, d: int) -> _core.FeatureMap:
        return _core.Pairs(self.bits)


@dataclass(frozen=True)
class Hashing(FeatureMap):
    """The numbers themselves in 2^bits hashed places, with a sign: many columns become fewer."""

    name: ClassVar[str] = "hashing"
    takes: ClassVar[tuple[str, ...]] = ("dense", "csr")
    bits: int = 20

    def __post_init__(self) -> None:
        check_whole("bits", self.bits, 1, MOST_BITS)

    def in_core(self, d: int) -> _core.FeatureMap:
        return _core.Hashed(self.bits)


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
    needs_stats: ClassVar[bool] = True
    n: int = 1000
    gamma: float = 1.0
    seed: int = 0
    omega: np.ndarray | None = field(default=None, compare=False, repr=False)
    phase: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("n", self.n, 1, 1 << 24)
        check_whole("seed", self.seed, 0, 1 << 62)
        if not isinstance(self.gamma, numbers.Real) or not 0 < self.gamma <= sys.float_info.max:
            raise ValueError(f"gamma must be a positive number; got {self.gamma!r}")

    def fitted(self, stats: Stats) -> Fourier:
        if self.omega is not None:
            return self
        random = np.random.default_rng(self.seed)
        omega = random.normal(scale=np.sqrt(2 * self.gamma), size=(stats.d, self.n))
        phase = random.uniform(0, 2 * np.pi, self.n)
        return replace(self, omega=omega.astype(np.float32), phase=phase.astype(np.float32))

    def transform_block(self, X: Any) -> np.ndarray:
        if self.omega is None or self.phase is None:
            raise ValueError("the map has no frequencies yet: call fitted(Stats().add(X)) first")
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

    def transform_block(self, X: Any) -> Any:
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
