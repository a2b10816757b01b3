"""Features made on the fly: compact rows are stored, and expanded when they are used.

A map is named (``"weighted_degree:8"``, ``"word_ngrams:2,bits=22"``) or an instance of a class of
this module. A map of your own is a callable that takes the rows of a block (ndarray, CSR matrix or
`Strings`) and returns as many rows of numbers, an ndarray or a CSR matrix, always as wide.

Where the expansion is done:

    strings, n-grams, pairs, hashing   by the core, each time a row is used: the cache holds compact
                                       rows, so more of them
    random Fourier features, own maps  when a block is read: the cache holds what the map gave
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from maxmargin.data.features.base import FeatureMap, Stats
from maxmargin.data.features.mapped import MappedSource, mapped
from maxmargin.data.features.maps import CharNgrams, Fourier, Hashing, Own, Pairs, WordNgrams
from maxmargin.data.features.strings import (
    Gappy,
    Mismatch,
    Spectrum,
    WeightedDegree,
    WeightedDegreeShifts,
)

__all__ = [
    "CharNgrams",
    "FeatureMap",
    "Fourier",
    "Gappy",
    "Hashing",
    "MappedSource",
    "Mismatch",
    "Own",
    "Pairs",
    "Spectrum",
    "Stats",
    "WeightedDegree",
    "WeightedDegreeShifts",
    "WordNgrams",
    "feature_map",
    "mapped",
    "unpack",
]

_KINDS: tuple[type[FeatureMap], ...] = (
    *(WeightedDegree, WeightedDegreeShifts, Spectrum, Mismatch, Gappy),
    *(WordNgrams, CharNgrams, Pairs, Hashing, Fourier),
)
MAPS = {kind.name: kind for kind in _KINDS}
_FIRST = {"weighted_degree": "degree", "weighted_degree_shifts": "degree"}
_FIRST |= dict.fromkeys(("spectrum", "mismatch", "gappy"), "k")
_FIRST |= dict.fromkeys(("pairs", "hashing"), "bits")
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


def _check_frequencies(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    omega, phase, n = arrays.get("omega"), arrays.get("phase"), values.get("n")
    if omega is None or phase is None or omega.ndim != 2:
        raise ValueError("its Fourier features lack their frequencies")
    if omega.dtype != np.float32 or phase.dtype != np.float32:
        raise ValueError("its frequencies are not float32")
    if omega.shape[1] != n or phase.shape != (n,):
        raise ValueError("its frequencies have another number than its features")
    if not (np.isfinite(omega).all() and np.isfinite(phase).all()):
        raise ValueError("its frequencies hold NaN or infinity")
