"""Cutting planes over a basis that grows."""

from __future__ import annotations

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows, Rows
from maxmargin.solvers.linear.reduced_qp import Planes
from maxmargin.solvers.subspace.certificate import ActivePlanes


class PlanesOfRows(Planes):
    """Planes that remember their subgradient, so that they can follow a growing basis.

    They keep it in units of each row's cost, where the loss has one: 0 or 1 at most rows for the
    hinge. float32 does as long as it holds every share exactly, since the planes are a proof.
    """

    def __init__(self, unit: np.ndarray, pool: _core.Pool) -> None:
        super().__init__(0, pool)
        self._unit = unit
        self._shares: np.ndarray = np.empty((8, len(unit)), dtype=np.float32)

    def add_subgradient(self, rows: Rows, subgrad: np.ndarray, b: float) -> None:
        t = len(self)
        unit = self._unit
        shares = np.divide(subgrad, unit, out=np.zeros_like(subgrad), where=unit != 0)
        self._make_room(t, shares)
        self._shares[t] = shares
        super().add_subgradient(rows, subgrad, b)

    def _make_room(self, t: int, shares: np.ndarray) -> None:
        """For the t-th plane, of numbers that hold its shares."""
        number: np.dtype = self._shares.dtype
        with np.errstate(over="ignore"):
            if number == np.float32 and (shares.astype(np.float32) != shares).any():
                number = np.dtype(np.float64)
        room = t + t // 2 if t == len(self._shares) else len(self._shares)
        if (room, number) != (len(self._shares), self._shares.dtype):
            grown = np.empty((room, len(shares)), dtype=number)
            grown[:t] = self._shares[:t]
            self._shares = grown

    def follow(self, z: np.ndarray) -> None:
        """Every plane gains its coordinate along a new column z."""
        self.widen(self._rows_of_shares().matvec(self._unit * z) if len(self) else np.empty(0))

    def active(self) -> ActivePlanes | None:
        """The planes that make up w_t, if there are any."""
        beta = self._qp.beta
        return ActivePlanes.of(beta, self._shares[: len(beta)], self._unit, self._b)

    def mixed(self) -> np.ndarray:
        """``sum_j beta_j l_j``: the plane that w_t is made of."""
        beta = self._qp.beta
        return self._unit * self._rows_of_shares().rmatvec(beta / max(1.0, float(beta.sum())))

    def _keep(self, kept: np.ndarray) -> None:
        for place, plane in enumerate(kept):
            if place != plane:
                self._shares[place] = self._shares[plane]
        super()._keep(kept)

    def _rows_of_shares(self) -> ArrayRows:
        return ArrayRows(self._shares[: len(self)], pool=self._pool)
