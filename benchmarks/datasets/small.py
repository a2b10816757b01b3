"""The small sets of the LIBSVM page: what grids, folds and one-vs-rest are made of."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.datasets.base import svmlight

NAMES = (
    "a1a",
    "a1a.t",
    "a2a",
    "a2a.t",
    "australian",
    "diabetes",
    "fourclass",
    "german.numer",
    "heart",
    "ionosphere",
    "liver",
    "mushrooms",
    "sonar",
    "splice",
    "svmguide1",
    "svmguide1.t",
    "svmguide3",
    "w1a",
)

SMALL = [
    replace(svmlight(f"small/{name}", "from the LIBSVM page"), name=name.replace(".", "-"))
    for name in NAMES
]
