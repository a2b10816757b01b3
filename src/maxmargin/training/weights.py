"""What rows count for: the weights of rows and of classes that people give, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.parameters import ParameterError, is_number


def checked_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """One finite weight >= 0 per row, some of them positive; a number stands for all rows."""
    if sample_weight is None:
        return None
    if is_number(sample_weight):
        sample_weight = np.full(n, float(sample_weight))
    weight = np.require(sample_weight, np.float64, ["C", "A"])
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; expected ({n},), one weight per row"
        )
    good = np.isfinite(weight) & (weight >= 0)
    if not good.all():
        bad = int(np.argmin(good))
        raise ValueError(
            f"sample_weight[{bad}] is {weight[bad]}; expected finite weights, none negative"
        )
    if not weight.any():
        raise ValueError("every sample_weight is zero; expected rows of positive weight")
    return weight


def class_factors(
    classes: np.ndarray, total: np.ndarray, class_weight: Mapping[Any, Any] | str | None
) -> np.ndarray:
    """What the rows of each class count for, given the sum of the weights of each."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        return total.sum() / (len(classes) * np.where(total > 0, total, 1.0))
    if not isinstance(class_weight, Mapping):
        raise ParameterError("class_weight", "a dict, 'balanced' or None", class_weight)
    labels = classes.tolist()
    for label, weight in class_weight.items():
        if label not in labels:
            shown = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
            raise ValueError(
                f"class_weight names {label}, which is not a label in y (labels: {shown})"
            )
        if not (is_number(weight) and 0 <= weight < np.inf):
            raise ValueError(f"class_weight of label {label} must be a number >= 0; got {weight!r}")
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)
