"""LIBLINEAR's text model, both ways.

    solver_type L2R_L1LOSS_SVC_DUAL
    nr_class 2
    label 1 -1
    nr_feature 4
    bias 1
    w
    0.5 ...                     one line per feature, then one for the bias if bias >= 0

Two classes have one column, positive for the *first* label; more have a column each. The bias is a
constant feature of that value, so ``intercept = bias * (last line)``. Models of logistic regression
(``L2R_LR``) have probabilities: ``p = 1 / (1 + exp(-f))``, with more classes each over their sum.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from maxmargin.data.atomic_files import write_atomically
from maxmargin.models.calibration import Sigmoid
from maxmargin.models.labels import whole_numbers
from maxmargin.models.linear import LinearModel, check_classifier

CLASSIFIERS = {
    "L2R_LR": "logistic",
    "L2R_L2LOSS_SVC_DUAL": "dual",
    "L2R_L2LOSS_SVC": "newton",
    "L2R_L1LOSS_SVC_DUAL": "dual",
    "MCSVM_CS": "crammer-singer",
    "L1R_L2LOSS_SVC": "l1",
    "L1R_LR": "l1-logistic",
    "L2R_LR_DUAL": "logistic",
}


def looks_like(start: bytes) -> bool:
    """Whether a file beginning so is a LIBLINEAR model."""
    return start.startswith(b"solver_type ")


def write(model: LinearModel, path: str | os.PathLike[str]) -> None:
    """Write `model` so that LIBLINEAR's ``predict`` gives the same labels.

    LIBLINEAR knows integer labels only; others raise ValueError.
    """
    check_classifier(model, "LIBLINEAR text")
    classes = whole_numbers(model.classes)
    if classes.dtype.kind not in "iu" or np.abs(classes).max() > np.iinfo(np.int32).max:
        raise ValueError(
            f"LIBLINEAR models hold 32-bit integer labels; these are {classes[:3].tolist()!r}...: "
            "save as .safetensors, or train with integer labels"
        )
    binary = len(model.coef) == 1
    solver_type, coef, intercept = _log_odds(model)
    bias = _bias(model, intercept)
    w = coef.T
    if bias >= 0:
        w = np.vstack([w, intercept / bias])
    labels = classes[::-1] if binary else classes
    header = (
        f"solver_type {solver_type}\nnr_class {len(classes)}\n"
        f"label {' '.join(map(str, labels.tolist()))}\nnr_feature {model.n_features}\n"
        f"bias {bias:.17g}\nw\n"
    )
    with write_atomically(path) as file:
        file.write(header.encode())
        for line in w.tolist():
            file.write((" ".join(map(repr, line)) + " \n").encode())


def _log_odds(model: LinearModel) -> tuple[str, np.ndarray, np.ndarray]:
    """Solver type, weights and intercepts: those of log-odds where there are probabilities.

    LIBLINEAR's ``predict -b 1`` gives those of logistic regression, by the formulas of `Sigmoid`.
    """
    calibration = model.calibration
    if calibration is None:
        return "L2R_L1LOSS_SVC_DUAL", model.coef, model.intercept
    if not isinstance(calibration, Sigmoid):
        raise ValueError(
            "LIBLINEAR models have no isotonic calibration: save as .safetensors, or train with "
            "probability='sigmoid'"
        )
    slope = calibration.slope
    return "L2R_LR", slope[:, None] * model.coef, slope * model.intercept + calibration.offset


def _bias(model: LinearModel, intercept: np.ndarray) -> float:
    """LIBLINEAR's -B: the constant feature's value, -1 for none."""
    if not intercept.any():
        return -1.0
    scaling = model.parameters.get("intercept_scaling", 1.0)
    return float(scaling) if isinstance(scaling, (int, float)) and scaling > 0 else 1.0


def read(path: str | os.PathLike[str]) -> LinearModel:
    """Read a LIBLINEAR classification model; ValueError naming the line where it is not one."""
    size = os.path.getsize(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        header, lines = _read_header(path, file)
        k = len(header["label"])
        columns = 1 if k == 2 and header["solver_type"] != "MCSVM_CS" else k
        length = header["nr_feature"] + (header["bias"] >= 0)
        # A number takes a digit and a space at the least: counts beyond the file's size are lies.
        if columns * length * 2 > size:
            raise ValueError(
                f"{path}: header promises {columns} x {length} weights, more than its {size} bytes "
                "can hold: the file is cut short or damaged, export it again"
            )
        w = _read_weights(path, file, lines, length, columns)
    return _model(header, w)


def _read_header(path: Any, file: Any) -> tuple[dict[str, Any], int]:
    """The fields above ``w``, and how many lines they took."""
    header: dict[str, Any] = {}
    for number, line in enumerate(file, start=1):
        name, _, text = line.strip().partition(" ")
        if name == "w":
            break
        try:
            header[name] = _FIELDS[name](text)
        except KeyError:
            raise ValueError(
                f"{path}, line {number}: {name[:40]!r} is no field of a LIBLINEAR model "
                f"({', '.join(_FIELDS)})"
            ) from None
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {name} {text[:40]!r}: {error}") from None
    else:
        raise ValueError(
            f"{path}: ends before its weights ('w'): the file is cut short, export it again"
        )
    for name in ("solver_type", "nr_class", "label", "nr_feature", "bias"):
        if name not in header:
            raise ValueError(f"{path}: has no {name!r} above its weights: export it again")
    if header["nr_class"] != len(header["label"]):
        raise ValueError(
            f"{path}: {len(header['label'])} labels for {header['nr_class']} classes; "
            "expected one each"
        )
    return header, number


def _read_weights(path: Any, file: Any, number: int, length: int, columns: int) -> np.ndarray:
    w = np.empty((length, columns))
    for row in range(length):
        words = file.readline().split()
        number += 1
        if len(words) != columns:
            raise ValueError(
                f"{path}, line {number}: {len(words)} weights, expected {columns} (line {row + 1} "
                f"of {length} of w): the file is cut short or damaged, export it again"
            )
        try:
            w[row] = [float(word) for word in words]
        except ValueError:
            raise ValueError(f"{path}, line {number}: {words[:3]!r} are not all numbers") from None
        if not np.isfinite(w[row]).all():
            raise ValueError(f"{path}, line {number}: weights must be finite; got {words[:3]!r}")
    if file.readline().strip():
        raise ValueError(f"{path}, line {number + 1}: more lines than its {length} weights")
    return w


def _model(header: dict[str, Any], w: np.ndarray) -> LinearModel:
    labels, bias = np.array(header["label"], dtype=np.int64), header["bias"]
    if len(labels) == 2:
        # Ours is positive for the larger label, theirs for the first.
        w = w[:, :1] - w[:, 1:2] if w.shape[1] == 2 else w
        w = w if labels[0] > labels[1] else -w
    else:
        w = w[:, np.argsort(labels)]
    coef, last = (w[:-1], w[-1]) if bias >= 0 else (w, np.zeros(w.shape[1]))
    logistic = "LR" in header["solver_type"].split("_")
    return LinearModel(
        calibration=Sigmoid(np.ones(w.shape[1]), np.zeros(w.shape[1])) if logistic else None,
        coef=np.ascontiguousarray(coef.T),
        intercept=max(bias, 0.0) * last,
        classes=np.sort(labels),
        solver=CLASSIFIERS[header["solver_type"]],
        parameters={"fit_intercept": bias > 0} | ({"intercept_scaling": bias} if bias > 0 else {}),
    )


def _solver_type(text: str) -> str:
    if text not in CLASSIFIERS:
        raise ValueError(f"not a classifier; expected one of {', '.join(CLASSIFIERS)}")
    return text


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:20]) < 2**62:
        raise ValueError("expected a positive whole number")
    return int(text)


def _labels(text: str) -> list[int]:
    labels = [int(word) for word in text.split()]
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise ValueError("expected two or more different whole numbers")
    if max(map(abs, labels)) >= 2**62:
        raise ValueError("expected 32-bit whole numbers")
    return labels


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("expected a finite number")
    return value


_FIELDS = {
    "solver_type": _solver_type,
    "nr_class": _count,
    "label": _labels,
    "nr_feature": _count,
    "bias": _finite,
}
