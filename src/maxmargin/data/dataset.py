"""What a data file holds once it is in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from maxmargin.data.encoding.encoding import TableEncoding


@dataclass
class Dataset:
    """Rows with their labels, and what else the file says about them.

    Attributes
    ----------
    X : csr_matrix or ndarray of shape (n, d)
        Sparse from svmlight text, dense and contiguous along rows from tables.
    y : ndarray of shape (n,), optional
        Labels: float64 from svmlight text; integers, floats, booleans or strings from tables.
    qid : int64 ndarray of shape (n,), optional
        The query each row belongs to (ranking).
    weight : float64 ndarray of shape (n,), optional
        The weight of each row.
    feature_names : list of str, optional
        Names of the columns of X, where the file has names.
    index_base : int, optional
        The number svmlight text gives to its first feature, 0 or 1; None for tables.
    encoder : TableEncoding, optional
        How X was made of the columns of a table.
    source : str
        Where the data came from, for messages.
    """

    X: sp.csr_matrix | np.ndarray
    y: np.ndarray | None = None
    qid: np.ndarray | None = None
    weight: np.ndarray | None = None
    feature_names: list[str] | None = None
    index_base: int | None = None
    encoder: TableEncoding | None = None
    source: str = "memory"
