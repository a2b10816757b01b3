"""Folds of cross-validation: random by seed, stratified by class, groups never split."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Folds = list[tuple[np.ndarray, np.ndarray]]


def folds_of(
    count: int,
    n: int,
    seed: int,
    codes: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Folds:
    """Pairs of training and test rows. `codes` are classes whose shares the folds keep, `groups`
    are rows that stay together (those of a query, say)."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer):
        raise ValueError(f"the number of folds is {count!r}; expected a whole number, 2 or more")
    if n == 1:
        raise ValueError("there is 1 sample; folds need at least two")
    if groups is not None:
        part = _by_group(count, groups, codes, seed)
    elif codes is not None:
        most = int(np.bincount(codes).max())
        if count < 2 or most < count:
            raise ValueError(
                f"cannot make {count} folds: expected at least 2, and no more than the largest "
                f"class has rows ({most})"
            )
        return stratified_folds(codes, count, seed)
    else:
        if not 2 <= count <= n:
            raise ValueError(f"cannot make {count} folds of {n} rows: expected 2 to {n}")
        part = np.random.default_rng(seed).permutation(n) % count
    return _pairs(part, count)


def checked_folds(given: Iterable[tuple[Any, Any]], n: int) -> Folds:
    """Folds of n rows as somebody gave them."""
    folds = [(_rows("training", a, n), _rows("test", b, n)) for a, b in given]
    for k, (train, _) in enumerate(folds):
        if not len(train):
            raise ValueError(f"fold {k + 1} cannot be trained: it has no training rows")
    return folds


def check_weighed(folds: Folds, weight: np.ndarray | None) -> None:
    """Refuses folds of which all rows that train, or all that judge, weigh nothing."""
    for k, parts in enumerate(folds):
        for part, rows in zip(("training", "test"), parts, strict=True):
            if not len(rows) or (weight is not None and not weight[rows].sum() > 0):
                raise ValueError(
                    f"fold {k + 1} cannot be judged: its {len(rows)} {part} rows weigh nothing"
                )


def _rows(part: str, given: Any, n: int) -> np.ndarray:
    """Row numbers of a fold, all of them in the data."""
    rows = np.asarray(given)
    rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (n,) else rows
    if rows.size == 0:
        rows = rows.astype(np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(f"the {part} rows of a fold must be row numbers; got {given!r}")
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise ValueError(
            f"a fold names the {part} row {outside[0]}; expected numbers from 0 to {n - 1}"
        )
    return rows


def stratified_folds(codes: np.ndarray, count: int, seed: int) -> Folds:
    """Random folds, every class with its share in each."""
    shuffled = np.random.default_rng(seed).permutation(len(codes))
    by_class = shuffled[np.argsort(np.asarray(codes)[shuffled], kind="stable")]
    part = np.empty(len(codes), dtype=np.intp)
    part[by_class] = np.arange(len(codes)) % count
    return _pairs(part, count)


def _pairs(part: np.ndarray, count: int) -> Folds:
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(count)]


def _by_group(folds: int, groups: Any, codes: np.ndarray | None, seed: int) -> np.ndarray:
    """Groups, the largest first, each to the fold that has least of what the group has.

    Groups of equal size are in random order. With classes, "least" is by the shares of classes.
    """
    names, group = np.unique(groups, return_inverse=True)
    count, n = len(names), len(group)
    if not 2 <= folds <= count:
        raise ValueError(
            f"cannot make {folds} folds of {count} {'group' if count == 1 else 'groups'}: a group "
            f"(or query) is never split; expected 2 to {max(count, 2)} folds"
        )
    kept = np.zeros(n, dtype=np.intp) if codes is None else np.unique(codes, return_inverse=True)[1]
    classes = int(kept.max()) + 1
    table = np.bincount(group * classes + kept, minlength=count * classes).reshape(count, classes)
    share = np.column_stack((table / table.sum(axis=0), table.sum(axis=1) / n))
    shuffled = np.random.default_rng(seed).permutation(count)
    order = shuffled[np.argsort(-table[shuffled].sum(axis=1), kind="stable")]
    filled, fold_of = np.zeros((folds, classes + 1)), np.empty(count, dtype=np.intp)
    for g in order:  # that fold where the squares of shares grow least
        fold_of[g] = int(np.argmin(filled @ share[g]))
        filled[fold_of[g]] += share[g]
    return fold_of[group]
