"""Rows that stay on disk: each product is one pass over the file, shared by all who wait for one.

Problems solved side by side (one per class) ask for their products at different moments. `Passes`
lets each wait until all the others wait too, and then one of them reads the file once for all. So
ten classes cost as many passes as the slowest of them, not ten times as many.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, view
from maxmargin.data.errors import DataError
from maxmargin.data.stream.blocks import Block, BlockSource

GRAM_LANES = 8  # multiplications of a Gram matrix in the time of an entry of a product


class ArrayBlock:
    """The rows of a block, as products take them."""

    def __init__(self, X: Any, bias: float, pool: _core.Pool | None = None) -> None:
        self.X, self._view = X, view(X, bias, pool)
        self.n: int = X.shape[0]

    def matvec(self, w: np.ndarray, out: np.ndarray, pool: _core.Pool) -> None:
        """``out = X w``"""
        _core.matvec(self._view, w, out, pool)

    def rmatvec_onto(self, v: np.ndarray, a: np.ndarray, pool: _core.Pool) -> None:
        """``a += X^T v``"""
        _core.rmatvec_onto(self._view, v, a, pool)

    def gram(self, h: np.ndarray, every: int, out: np.ndarray, pool: _core.Pool) -> None:
        """``out = sum_i h_i x_i x_i^T``, of every so many rows that have h_i > 0."""
        _core.gram(self._view, h, every, True, out, pool)


def product_blocks(source: BlockSource, bias: float, pool: _core.Pool) -> Iterator[tuple[int, Any]]:
    """The number of the first row of each block, and its rows as products take them."""
    if hasattr(source, "product_blocks"):
        yield from source.product_blocks(bias)
    else:
        for block in source.blocks():
            yield block.first, ArrayBlock(block.X, bias, pool)


@dataclass(eq=False)
class Product:
    """A product that waits for a pass; `add` takes in what one block contributes."""

    add: Callable[[int, Any, _core.Pool], None]
    done: bool = False
    error: BaseException | None = field(default=None)


class Passes:
    """Passes over a source for problems that are solved side by side.

    Parameters
    ----------
    source : BlockSource
        Of numbers, not strings.
    bias : float
        Value of a constant feature appended to every row; 0 appends none.
    pool : _core.Pool
        The threads that do the products. Its stop flag ends a pass for all who wait for it.
    """

    def __init__(self, source: BlockSource, bias: float, pool: _core.Pool) -> None:
        self.source, self.bias, self.pool = source, float(bias), pool
        self.count = 0  # passes made
        self._members = 0
        self._waiting: list[Product] = []
        self._changed = threading.Condition()
        self._reading = False

    @contextmanager
    def member(self) -> Iterator[None]:
        """While the block runs, passes wait for this thread's products too."""
        with self._changed:
            self._members += 1
        try:
            yield
        finally:
            with self._changed:
                self._members -= 1
                self._changed.notify_all()

    def run(self, product: Product) -> None:
        """Have a product done, by this thread or by another that reads for all."""
        with self._changed:
            self._waiting.append(product)
            self._changed.notify_all()
            self._changed.wait_for(lambda: product.done or self._all_wait())
            if not product.done:
                self._reading = True
                mine, self._waiting = self._waiting, []
        if not product.done:
            self._read_for(mine)
        if product.error is not None:
            raise product.error

    def _all_wait(self) -> bool:
        return not self._reading and len(self._waiting) >= self._members

    def _read_for(self, products: list[Product]) -> None:
        error: BaseException | None = None
        try:
            for first, rows in product_blocks(self.source, self.bias, self.pool):
                for product in products:
                    product.add(first, rows, self.pool)
            self.count += 1
        except BaseException as raised:
            error = raised
        with self._changed:
            self._reading = False
            for product in products:
                product.done, product.error = True, error
            self._changed.notify_all()


class SourceRows:
    """The rows of a source as solvers ask for them: two products, and sums over the rows.

    Parameters
    ----------
    passes : Passes
    pool : _core.Pool
        For vectors of one number per row, which are in memory.
    """

    def __init__(self, passes: Passes, pool: _core.Pool) -> None:
        self.passes, self.pool = passes, pool
        self.n: int = passes.source.n
        self.d: int = passes.source.d
        self.width: int = self.d + (passes.bias != 0)

    def with_pool(self, pool: _core.Pool) -> SourceRows:
        """The same rows in passes of their own, by other threads."""
        return type(self)(Passes(self.passes.source, self.passes.bias, pool), pool)

    def zeros(self) -> np.ndarray:
        return np.zeros(self.n)

    def matvec(self, w: np.ndarray) -> np.ndarray:
        p = np.empty(self.n)

        def add(first: int, rows: Any, pool: _core.Pool) -> None:
            rows.matvec(w, p[first : first + rows.n], pool)

        self.passes.run(Product(add))
        return p

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        a = np.zeros(self.width)

        def add(first: int, rows: Any, pool: _core.Pool) -> None:
            rows.rmatvec_onto(v[first : first + rows.n], a, pool)

        self.passes.run(Product(add))
        return a

    def both_products(self, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``X w`` and ``X^T v`` in one pass."""
        p, a = np.empty(self.n), np.zeros(self.width)

        def add(first: int, rows: Any, pool: _core.Pool) -> None:
            rows.matvec(w, p[first : first + rows.n], pool)
            rows.rmatvec_onto(v[first : first + rows.n], a, pool)

        self.passes.run(Product(add))
        return p, a

    def rmatvec_and_gram(
        self, v: np.ndarray, h: np.ndarray, every: int
    ) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
        """``X^T v`` and ``sum_i h_i x_i x_i^T`` in one pass, the latter from every so many rows of
        a block that have h_i > 0."""
        a, H = np.zeros(self.width), np.zeros((self.width, self.width))
        of_block = np.empty_like(H)

        def add(first: int, rows: Any, pool: _core.Pool) -> None:
            here = slice(first, first + rows.n)
            rows.rmatvec_onto(v[here], a, pool)
            if h[here].any():
                rows.gram(h[here], every, of_block, pool)
                np.add(H, of_block, out=H)

        self.passes.run(Product(add))
        return a, H.copy

    @property
    def nnz(self) -> int:
        """At most: what a file leaves out is not counted, but where features are made."""
        return getattr(self.passes.source, "entries", self.n * self.width)

    @property
    def gram_steps_per_row(self) -> float:
        """About how many multiplications by one entry a full row of a Gram matrix takes."""
        return max(self.width * (self.width + 1) / 2 / GRAM_LANES, 1.0)

    def subsample(self, step: int) -> ArrayRows:
        """Every `step`-th row, in memory: one pass."""
        kept: list[Any] = []

        def take(first: int, rows: Any, pool: _core.Pool) -> None:
            part = rows.X[-first % step :: step]
            kept.append(part if sp.issparse(part) else part.copy())

        self.passes.run(Product(take))
        X = sp.vstack(kept, format="csr") if sp.issparse(kept[0]) else np.concatenate(kept)
        return ArrayRows(X, self.passes.bias, self.pool)

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        return _core.inner(x, y, self.pool)

    def axpby(self, alpha: float, x: np.ndarray, beta: float, y: np.ndarray) -> np.ndarray:
        out = np.empty(len(x))
        _core.axpby(alpha, x, beta, y, out, self.pool)
        return out


@dataclass(frozen=True)
class RowMetadata:
    """What a source says about its rows, apart from the rows themselves."""

    y: np.ndarray | None
    weight: np.ndarray | None
    qid: np.ndarray | None


def read_rows(source: BlockSource) -> tuple[Any, RowMetadata]:
    """All rows in memory, and what the source says about them: one pass."""
    check_numbers(source)
    blocks: list[Any] = []
    metadata = read_metadata(source, blocks.append)
    return (
        sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks),
        metadata,
    )


def read_metadata(source: BlockSource, take: Callable[[Any], None] | None = None) -> RowMetadata:
    """Labels, weights and query numbers of all rows: one pass, which also looks at every value.

    `take` is given the rows of each block.
    """
    parts: list[list[np.ndarray | None]] = []
    rows = source.compact if getattr(source, "made_in_core", False) else source  # type: ignore[attr-defined]
    for block in rows.blocks():
        if rows.kind != "strings":
            _check_finite(source, block)
        if take is not None:
            take(block.X)
        parts.append([_kept(side) for side in (block.y, block.weight, block.qid)])
    return RowMetadata(*(_joined(source, side) for side in zip(*parts)))


def check_numbers(source: BlockSource) -> None:
    """Refuse strings where no features are made of them."""
    if source.kind == "strings":
        raise DataError(
            f"{source.name}: its rows are strings; expected rows of numbers; make features of them "
            "(features='weighted_degree:8' or 'word_ngrams:2', say)"
        )


def _kept(side: np.ndarray | None) -> np.ndarray | None:
    """A copy: a view would keep its whole block in memory."""
    return None if side is None else side.copy()


def _joined(source: BlockSource, parts: Sequence[np.ndarray | None]) -> np.ndarray | None:
    known = [part for part in parts if part is not None]
    if known and len(known) < len(parts):
        raise DataError(
            f"{source.name}: some of its blocks have labels, weights or qid and some have none; "
            "expected the same of all rows"
        )
    return np.concatenate(known) if known else None


def _check_finite(source: BlockSource, block: Block) -> None:
    X: Any = block.X
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values).reshape(-1))[0])
        row = (
            int(np.searchsorted(X.indptr, at, "right")) - 1 if sp.issparse(X) else at // X.shape[1]
        )
        raise DataError(
            f"{source.name}: row {block.first + row + 1} holds {values.reshape(-1)[at]}; expected "
            "finite numbers; replace the value or drop the row"
        )
