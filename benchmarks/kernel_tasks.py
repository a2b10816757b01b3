"""Rows, labels, C and gamma that `benchmarks.kernel_svc` solves: real, and drawn.

`UNLIKE` are drawn sets that differ from each other in what makes a kernel problem easy or hard: few
and many support vectors, 2 to 500 features, sparse rows, ten classes, rows given many times, gamma
far too small and far too large, C from 1e-2 to 1e6. Nothing was chosen in sight of a result.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import options
from benchmarks.datasets.base import read_idx
from benchmarks.paths import data_folder
from maxmargin.solvers.kernel.coding import Coding, coding_of

COSTS = {
    "a9a": (1.0, 0.05),
    "ijcnn1": (10.0, 1.0),
    "covtype": (10.0, 10.0),
    "mnist10": (10.0, 0.02),
}
MNIST_TEST = ("mnist.t10k-images-idx3-ubyte", "mnist.t10k-labels-idx1-ubyte")
MNIST = ("mnist.train-images-idx3-ubyte", "mnist.train-labels-idx1-ubyte")


@dataclass(frozen=True)
class Task:
    """Rows, class numbers and the problem to be solved; test rows where the set has some."""

    name: str
    X: Any
    y: np.ndarray
    C: float
    gamma: float
    test: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def title(self) -> str:
        shape = f"{self.X.shape[0]} x {self.X.shape[1]}"
        return f"{self.name} ({shape}), C = {self.C:.3g}, gamma = {self.gamma:.3g}"

    @property
    def coding(self) -> Coding:
        return coding_of(int(self.y.max()) + 1, "ovo")


# ---------------------------------------------------------------- what is solved


def skin(rows: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Three features from 0 to 255 on [-1, 1], a smooth boundary, few support vectors."""
    random = np.random.default_rng(20261119)
    X = random.integers(0, 256, (rows, 3)) / 127.5 - 1.0
    score = X[:, 0] - 0.6 * X[:, 1] - 0.3 * np.sin(3 * X[:, 2])
    kept = np.abs(score) > 0.1
    X, score = X[kept], score[kept]
    return X, (score > 0) ^ (random.random(len(score)) < noise)


def drawn(seed: int) -> Task:
    """Shape, noise and kernel are drawn too."""
    random = np.random.default_rng([20261119, seed])
    d, n = int(10 ** random.uniform(0.3, 2.3)), int(10 ** random.uniform(3.3, 4.5))
    X = random.normal(size=(n, d)).astype(np.float32)
    inner = X @ random.normal(size=(d, 2)) / np.sqrt(d)
    score = (
        np.sin(2 * inner[:, 0]) + inner[:, 1] + 10 ** random.uniform(-2, 0) * random.normal(size=n)
    )
    C, gamma = 10 ** random.uniform(-1, 3), 10 ** random.uniform(-1, 0.5) / d
    return Task(f"drawn-{seed}", X, (score > 0).astype(int), C, gamma)


# ---------------------------------------------------------------- sets of unlike shape


def wide(random: np.random.Generator) -> Task:
    """Many features, many support vectors, small C."""
    X = random.normal(size=(6000, 500))
    score = X[:, :20].sum(axis=1) / 4 + random.normal(size=len(X))
    return Task("wide", X, (score > 0).astype(int), 1e-2, 1 / 1000)


def text(random: np.random.Generator) -> Task:
    """Sparse rows of length 1, words by Zipf's law."""
    n, words, of_row = 12_000, 30_000, 60
    columns = np.minimum(random.zipf(1.4, (n, of_row)), words) - 1
    rows = np.repeat(np.arange(n), of_row)
    X = sp.csr_matrix((np.ones(columns.size), (rows, columns.ravel())), shape=(n, words))
    X.data = 1.0 + np.log(X.data)
    X = sp.csr_matrix(sp.diags(1 / np.sqrt(X.multiply(X).sum(axis=1).A1)) @ X)
    score = X @ random.normal(size=words) + 0.1 * random.normal(size=n)
    return Task("text", X, (score > np.median(score)).astype(int), 1.0, 1.0)


def digits(random: np.random.Generator) -> Task:
    """Ten classes in float32, of which each has three centres."""
    centres = 1.5 * random.normal(size=(30, 40))
    of = random.integers(0, 30, 15_000)
    X = (centres[of] + random.normal(size=(len(of), 40))).astype(np.float32)
    return Task("ten classes", X, of % 10, 10.0, 1 / 80)


def repeated(random: np.random.Generator) -> Task:
    """Every row about twenty times, with labels that disagree."""
    rows = random.normal(size=(1500, 10))
    of = random.integers(0, len(rows), 30_000)
    score = np.sin(2 * rows[of, 0]) + rows[of, 1] + 0.5 * random.normal(size=len(of))
    return Task("repeated", rows[of], (score > 0).astype(int), 1.0, 0.1)


def narrow_kernel(random: np.random.Generator) -> Task:
    """gamma so large that hardly a row reaches another."""
    X = random.normal(size=(8000, 20))
    score = X[:, 0] * X[:, 1] + 0.3 * random.normal(size=len(X))
    return Task("narrow kernel", X, (score > 0).astype(int), 100.0, 5.0)


def flat_kernel(random: np.random.Generator) -> Task:
    """gamma so small that the kernel is all but constant."""
    X = random.normal(size=(10_000, 8))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * random.normal(size=len(X))
    return Task("flat kernel", X, (score > 0.5).astype(int), 10.0, 1e-4)


def large_C(random: np.random.Generator) -> Task:
    """Two features, a curved boundary, a few labels wrong, and C = 1e6."""
    X = random.uniform(-1, 1, size=(3000, 2))
    score = np.sin(3 * X[:, 0]) - X[:, 1]
    wrong = random.random(len(X)) < 0.01
    return Task("large C", X, ((score > 0) ^ wrong).astype(int), 1e6, 1.0)


def clean(random: np.random.Generator) -> Task:
    """Many rows, two blobs in twenty features, few support vectors."""
    y = random.integers(0, 2, 80_000)
    X = random.normal(size=(len(y), 20)).astype(np.float32)
    X[:, :5] += 2.0 * y[:, None]
    return Task("clean", X, y, 1.0, 1 / 40)


UNLIKE: list[Callable[[np.random.Generator], Task]] = [
    wide,
    text,
    digits,
    repeated,
    narrow_kernel,
    flat_kernel,
    large_C,
    clean,
]


def unlike(k: int) -> Task:
    """The k-th of them."""
    return UNLIKE[k](np.random.default_rng([20261119, 7, k]))


# ---------------------------------------------------------------- by name


def mnist(folder: Path | None, files: tuple[str, str]) -> tuple[np.ndarray, np.ndarray]:
    images = read_idx(folder, files[0])
    return images.reshape(len(images), -1) / np.float32(255), read_idx(folder, files[1]).astype(int)


def task(name: str, chosen: argparse.Namespace) -> Task:
    if name.startswith("drawn-"):
        return drawn(int(name.split("-")[1]))
    if name in ("skin", "separable"):
        X, y = skin(chosen.rows or 100_000, 0.001 if name == "skin" else 0.0)
        return Task(name, X, y.astype(int), chosen.C or 1.0, chosen.gamma or 10.0)
    if name.startswith("unlike-"):
        return unlike(int(name.split("-")[1]))
    folder, (C, gamma) = data_folder(chosen.data), COSTS.get(name, (1.0, 1.0))
    C, gamma = chosen.C or C, chosen.gamma or gamma
    if name == "mnist10":
        X, y = mnist(folder, MNIST)
        kept = slice(chosen.rows)
        return Task(name, X[kept], y[kept], C, gamma, mnist(folder, MNIST_TEST))
    X, y = options.load(name, chosen)
    X = X if name == "a9a" else X.toarray()
    return Task(name, X, (y > 0).astype(int), C, gamma)
