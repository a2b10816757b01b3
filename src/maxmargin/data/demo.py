"""The small real data set that comes with the package."""

from __future__ import annotations

from importlib import resources

from maxmargin.data.dataset import Dataset
from maxmargin.data.formats.reading import open

_FEATURES = 123


def load_demo() -> tuple[Dataset, Dataset]:
    """Training and test rows of an excerpt of UCI Adult: who earns more than 50 000 dollars a year?

    6000 and 3000 rows of 123 features that are 0 or 1; labels +1 (about a quarter) and -1. Source
    and licence are in ``bundled/README.md``.

    Examples
    --------
    >>> train, test = load_demo()
    >>> train.X.shape, test.X.shape
    ((6000, 123), (3000, 123))
    """
    return _bundled("adult.train.svm.xz"), _bundled("adult.test.svm.xz")


def _bundled(name: str) -> Dataset:
    with resources.files("maxmargin.data").joinpath("bundled", name).open("rb") as file:
        dataset = open(file, zero_based=False, n_features=_FEATURES)
    dataset.source = f"bundled {name}"
    return dataset
