"""Maps of strings over an alphabet, DNA and proteins say: substrings by place, or anywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from maxmargin import _core
from maxmargin.data.features.base import MOST_BITS, FeatureMap, Stats, check_whole
from maxmargin.data.stream.blocks import Strings

AMBIGUOUS = "RYSWKMBDHVNX-.*?"  # one of several nucleotides, or none
ALPHABETS = {  # and the letters beside them that stand for none of their own
    "ACGT": AMBIGUOUS,
    "ACGU": AMBIGUOUS,
    "ACDEFGHIKLMNPQRSTVWY": "BJOUXZ-.*?",
}


def letters_of(stats: Stats) -> str:
    """The alphabet of the training rows: one that is known if all its letters are there."""
    found = bytes(np.flatnonzero(stats.letters).tolist()).decode("latin-1")
    for alphabet, others in ALPHABETS.items():
        if set(alphabet) <= set(found) <= set(alphabet + others):
            return alphabet
    return found


@dataclass(frozen=True)
class OfLetters(FeatureMap):
    """What maps over an alphabet share."""

    takes: ClassVar[tuple[str, ...]] = ("strings",)
    needs_stats: ClassVar[bool] = True
    if TYPE_CHECKING:  # fields of each map
        alphabet: str | None = None
        bits: int = 0

    def __post_init__(self) -> None:
        check_whole("bits", self.bits, 0, MOST_BITS)
        if self.alphabet is not None and not (
            isinstance(self.alphabet, str) and 1 <= len(set(self.alphabet)) == len(self.alphabet)
        ):
            raise ValueError(f"alphabet must be distinct letters; got {self.alphabet!r}")

    def fitted(self, stats: Stats) -> Self:
        if not stats.letters.any():
            raise ValueError("all strings are empty: a map of letters finds no alphabet in them")
        alphabet = self.alphabet or letters_of(stats)
        known = stats.letters[list(alphabet.encode("latin-1"))]
        if not known.any():
            raise ValueError(
                f"no letter of the strings is in the alphabet {alphabet!r}: name their letters "
                "(lower case is another)"
            )
        return replace(self, alphabet=alphabet)

    def letters(self) -> _core.Alphabet:
        """The alphabet, as the core takes it."""
        if self.alphabet is None:
            raise ValueError(
                "the map has seen no strings yet: call fitted(Stats().add(strings)) first"
            )
        return _core.Alphabet(np.frombuffer(self.alphabet.encode("latin-1"), np.uint8))

    def check_places(self, wide: float, what: str) -> None:
        """Refuse more features than there can be places."""
        if not self.bits and wide > 2**MOST_BITS:
            raise ValueError(
                f"{what} of an alphabet of {len(self.alphabet or '')} "
                f"has {wide:.3g} features: hash them (bits=24, say), take a lower degree, or name "
                "a smaller alphabet"
            )


# ---------------------------------------------------------------- by place


@dataclass(frozen=True)
class OfLength(OfLetters):
    """What maps of strings of one length share."""

    if TYPE_CHECKING:  # fields of each map
        degree: int = 8
        length: int | None = None

    def __post_init__(self) -> None:
        check_whole("degree", self.degree, 1, 64)
        super().__post_init__()
        if self.length is not None:
            check_whole("length", self.length, 1, 1 << 31)

    def fitted(self, stats: Stats) -> Self:
        length = self.length if self.length is not None else stats.length
        if length is not None and length < self.degree:
            raise ValueError(
                f"the strings have {length} letters, fewer than the degree {self.degree}: take a "
                "lower degree"
            )
        return replace(super().fitted(stats), length=length)

    def known_length(self) -> int:
        """The length of the strings, which the map must have seen."""
        if self.length is None:
            raise ValueError(
                "the map has seen no strings yet: call fitted(Stats().add(strings)) first"
            )
        return self.length


@dataclass(frozen=True)
class WeightedDegree(OfLength):
    """Weighted degree kernel on strings of one length: ``sum_k beta_k #{p : same substring}``.

    The substring of length k = 1..degree at position p is one feature, of value sqrt(beta_k),
    ``beta_k = 2 (K - k + 1) / (K (K + 1))``; rows have length 1, or less
    where letters are unknown.

    Parameters
    ----------
    degree : int
    alphabet : str, optional
        By default those found in the training rows: of DNA, RNA and proteins their letters without
        those that stand for several (N, X, gaps). Substrings with other letters carry no feature.
    bits : int
        0: every feature has its own place, ``sum_k (L - k + 1) A^k`` in all. Else places are
        hashed into 2^bits, with a sign.
    length : int, optional
        Of the strings; found in the training rows.
    """

    name: ClassVar[str] = "weighted_degree"
    degree: int = 8
    alphabet: str | None = None
    bits: int = 0
    length: int | None = None

    def in_core(self, d: int) -> _core.WeightedDegree:
        letters, length = self.letters(), self.known_length()
        wide = _core.WeightedDegree.dimensions(len(self.alphabet or ""), length, self.degree)
        self.check_places(wide, f"degree {self.degree} on {length} letters")
        return _core.WeightedDegree(letters, length, self.degree, self.bits)

    def scores(self, X: Any, coef: np.ndarray, pool: _core.Pool) -> np.ndarray:
        if self.bits or not isinstance(X, Strings):
            return super().scores(X, coef, pool)
        core = self.in_core(0)
        scores = np.empty((X.shape[0], len(coef)), order="F")
        for j, w in enumerate(coef):
            core.score(X.letters, X.starts, w, scores[:, j], pool)
        return scores


@dataclass(frozen=True)
class WeightedDegreeShifts(OfLength):
    """Weighted degree kernel whose substrings may be up to `shift` places apart.

    The same substring of length k at places p and q counts ``beta_k (1 - |p - q| / (shift + 1))``;
    features are hashed into 2^bits signed places, and rows scaled to length 1.
    """

    name: ClassVar[str] = "weighted_degree_shifts"
    degree: int = 8
    shift: int = 2
    alphabet: str | None = None
    bits: int = 22
    length: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("bits", self.bits, 1, MOST_BITS)
        check_whole("shift", self.shift, 0, 1 << 10)

    def in_core(self, d: int) -> _core.FeatureMap:
        letters, length = self.letters(), self.known_length()
        return _core.ShiftedDegree(letters, length, self.degree, self.shift, self.bits)


# ---------------------------------------------------------------- anywhere


@dataclass(frozen=True)
class Spectrum(OfLetters):
    """How often each word of k letters occurs, wherever it is; rows have length 1.

    Strings may have any length. `bits` = 0 gives each of the A^k words a place of its own, else
    they are hashed into 2^bits, with a sign.
    """

    name: ClassVar[str] = "spectrum"
    k: int = 6
    alphabet: str | None = None
    bits: int = 0

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1, 64)
        super().__post_init__()

    def in_core(self, d: int) -> _core.FeatureMap:
        letters = self.letters()
        self.check_places(float(len(self.alphabet or "")) ** self.k, f"words of {self.k} letters")
        return self._words(letters)

    def _words(self, letters: _core.Alphabet) -> _core.FeatureMap:
        return _core.Mismatch(letters, self.k, 0, self.bits)


@dataclass(frozen=True)
class Mismatch(Spectrum):
    """The spectrum in which a word also counts for those that differ in at most m letters."""

    name: ClassVar[str] = "mismatch"
    m: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("m", self.m, 0, min(self.k, 4))

    def _words(self, letters: _core.Alphabet) -> _core.FeatureMap:
        return _core.Mismatch(letters, self.k, self.m, self.bits)


@dataclass(frozen=True)
class Gappy(Spectrum):
    """Words of k letters that may have gaps: from first to last letter at most `span` places."""

    name: ClassVar[str] = "gappy"
    span: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("span", self.span, self.k, 64)

    def _words(self, letters: _core.Alphabet) -> _core.FeatureMap:
        return _core.Gappy(letters, self.k, self.span, self.bits)
