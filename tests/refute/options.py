"""The parameters that are drawn for each kind of estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

LOSSES = (
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "huber",
    "squared",
    "quantile",
    "expectile",
)
MEASURES = ("f1", "fbeta", "prbep", "precision_at_k", "recall_at_k", "roc_auc", "error")


def family_of(kind: str) -> str:
    """Which options a kind has, and how its claims are found."""
    if "regression-kernel" in kind:
        return "regression-kernel"
    if kind in (
        "cells-regression",
        "sparse-kernel-regression",
        "sparse-kernel-rank",
        "sparse-kernel-ordinal",
    ):
        return kind
    return kind.removeprefix("dask-").split("-")[0]


def chance(rng, share: float) -> bool:
    return bool(rng.random() < share)


def decades(rng, low: float, high: float) -> float:
    """A number between 10^low and 10^high, short enough to read."""
    return float(f"{10 ** rng.uniform(low, high):.3g}")


def constant(rng) -> float:
    """C"""
    return decades(rng, -8, 8) if chance(rng, 0.3) else decades(rng, -2, 4)


def class_weight(rng, y: np.ndarray) -> dict[str, Any]:
    if chance(rng, 0.8):
        return {}
    if chance(rng, 0.5):
        return {"class_weight": "balanced"}
    return {"class_weight": {c: decades(rng, -3, 3) for c in np.unique(y).tolist()}}


def intercept(rng) -> dict[str, Any]:
    if chance(rng, 0.4):
        return {"fit_intercept": False}
    return {"intercept_scaling": decades(rng, -3, 3)} if chance(rng, 0.3) else {}


def free_intercept(rng, options: dict[str, Any]) -> dict[str, Any]:
    """Where nothing was said of the intercept, it is sometimes not regularised."""
    said = {"fit_intercept", "intercept_scaling"} & options.keys()
    if said or options["solver"] == "dual" or not chance(rng, 0.5):
        return options
    return options | {"intercept": "free"}


def linear_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    options = intercept(rng) | class_weight(rng, y)
    options["loss"] = str(rng.choice(["hinge", "squared_hinge", "logistic"]))
    method = kind.removeprefix("linear-")
    if method in ("file", "features"):
        options["solver"] = str(rng.choice(["ocas", "cpa", "newton", "auto"]))
    elif kind.startswith("dask-"):
        options["solver"] = str(rng.choice(["ocas", "cpa", "newton", "auto"]))
        if kind == "dask-linear":
            options["start"] = str(rng.choice(["zero", "average"]))
    elif method == "cv":
        options |= {"solver": "auto", "Cs": [constant(rng) for _ in range(3)], "cv": 2}
    else:
        options["solver"] = method
        if chance(rng, 0.1):
            options["warm_from"] = constant(rng)
    if kind.startswith("dask-"):
        return options
    return free_intercept(rng, options) | (probability(rng) if method != "cv" else {})


def probability(rng) -> dict[str, Any]:
    """Calibrated sometimes, which fits folds besides; the certificate is that of all rows."""
    return {"probability": str(rng.choice(["sigmoid", "isotonic"]))} if chance(rng, 0.1) else {}


def offset(rng) -> dict[str, Any]:
    """A constant B^2 beside the kernel."""
    return {"offset": decades(rng, -2, 2)} if chance(rng, 0.15) else {}


def label_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    method = str(rng.choice(["auto", "newton", "dual", "ocas", "cpa"]))
    options = linear_options(rng, f"linear-{method}", np.arange(2))
    options.pop("probability", None)
    return options | {"sparse_labels": chance(rng, 0.5)}


def residual_loss(rng) -> dict[str, Any]:
    options: dict[str, Any] = {"loss": str(rng.choice(LOSSES)), "delta": decades(rng, -2, 2)}
    options |= {"epsilon": float(rng.choice([0.0, 0.1, 1.0])), "quantile": decades(rng, -2, -0.01)}
    if options["loss"] in ("quantile", "expectile") and chance(rng, 0.3):
        options["quantile"] = [0.1, 0.5, 0.95]
    return options


def kernel_regression_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    options = residual_loss(rng)
    options["kernel"] = str(rng.choice(["rbf", "rbf", "laplacian", "poly", "linear"]))
    gamma = decades(rng, -6, 6) if chance(rng, 0.4) else decades(rng, -2, 1)
    if options["kernel"] == "poly":
        options |= {"degree": int(rng.integers(1, 5)), "coef0": float(rng.choice([0.0, 1.0]))}
    options |= {} if kind.startswith("cells") else offset(rng)
    if chance(rng, 0.1):
        options["memory"] = 4 * 16 * max(32, len(y))  # too little for the matrix
    if kind.startswith("cells"):
        options["cells"] = int(rng.integers(2, 40))
    if kind.endswith("-cv"):
        return options | {"Cs": [constant(rng) for _ in range(3)], "gammas": [gamma, 1.0], "cv": 2}
    return options | {"gamma": gamma}


def span_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    """Of regressions, rankings and ordered labels on few basis vectors."""
    options = residual_loss(rng) if kind == "sparse-kernel-regression" else {}
    if kind == "sparse-kernel-ordinal":
        options |= class_weight(rng, y)
    options["kernel"] = str(rng.choice(["rbf", "rbf", "laplacian", "poly", "linear"]))
    if options["kernel"] == "poly":
        options |= {"degree": int(rng.integers(1, 5)), "coef0": float(rng.choice([0.0, 1.0]))}
    options["basis"] = "free"
    if chance(rng, 0.5) or options["kernel"] == "laplacian":
        options["basis"] = str(rng.choice(["training", "nystroem", "cholesky"]))
    gamma = decades(rng, -6, 6) if chance(rng, 0.4) else decades(rng, -2, 1)
    return options | {"n_basis": int(rng.integers(1, min(25, len(y) + 2))), "gamma": gamma}


def regression_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    method = kind.removeprefix("regression-")
    options = intercept(rng) | residual_loss(rng)
    if method in ("file", "features") or kind.startswith("dask-"):
        options["solver"] = str(rng.choice(["ocas", "cpa", "newton", "auto"]))
    elif method == "cv":
        options |= {"solver": "auto", "Cs": [constant(rng) for _ in range(3)], "cv": 2}
    else:
        options["solver"] = method
        if chance(rng, 0.1):
            options["warm_from"] = constant(rng)
    return options if kind.startswith("dask-") else free_intercept(rng, options)


def scoring_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    options: dict[str, Any] = {"solver": str(rng.choice(["ocas", "cpa"]))}
    if chance(rng, 0.1):
        options["warm_from"] = constant(rng)
    family = family_of(kind)
    if kind.endswith("-cv"):
        options |= {"Cs": [constant(rng) for _ in range(3)], "cv": 2}
        options.pop("warm_from", None)
    if family != "rank":
        options |= class_weight(rng, y)
    if family == "measure":
        measure = str(rng.choice(MEASURES))
        options |= {"measure": measure} | intercept(rng) | measure_options(rng, measure, y)
    return options


def measure_options(rng, measure: str, y: np.ndarray) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if measure == "fbeta":
        options["beta"] = decades(rng, -1, 1)
    if measure.endswith("at_k"):
        options["k"] = round(float(rng.uniform(0.05, 0.95)), 2)
    if chance(rng, 0.2) and len(np.unique(y)) == 2:
        options["pos_label"] = rng.choice(np.unique(y)).item()
    return options


def kernel_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    options = class_weight(rng, y)
    options["kernel"] = str(rng.choice(["rbf", "rbf", "laplacian", "poly", "linear"]))
    gamma = decades(rng, -6, 6) if chance(rng, 0.4) else decades(rng, -2, 1)
    if options["kernel"] == "poly":
        options |= {"degree": int(rng.integers(1, 5)), "coef0": float(rng.choice([0.0, 1.0]))}
    if kind.startswith("sparse-kernel"):
        rows = chance(rng, 0.5) or options["kernel"] == "laplacian"
        basis = ["training", "nystroem", "cholesky"] if rows else ["free"]
        options["basis"] = str(rng.choice(basis))
        options["n_basis"] = int(rng.integers(1, min(25, len(y) + 2)))
        return options | basis_options(rng, kind, y) | {"gamma": gamma}
    options |= {} if kind.startswith("cells") else offset(rng)
    options |= probability(rng) if kind in ("kernel", "sparse-kernel") else {}
    options["multi_class"] = str(rng.choice(["ovr", "ovo"]))
    options["working_set"] = int(rng.choice([7, 7, 7, 1, 2, 16, 48]))
    options["cold_start"] = str(rng.choice(["auto", "auto", "I0", "I1"]))
    if chance(rng, 0.3):
        options["stopping"] = "clipped"
    if chance(rng, 0.1):
        options["memory"] = 4 * 16 * max(32, len(y))  # too little for the matrix
    if kind.startswith("cells"):
        options["cells"] = int(rng.integers(2, 40))
    if kind in ("kernel-cv", "cells-cv"):
        return options | {"Cs": [constant(rng) for _ in range(3)], "gammas": [gamma, 1.0], "cv": 2}
    if kind == "kernel-precomputed" and chance(rng, 0.15):
        options["indefinite"] = decades(rng, -3, 0)
    return options | {"gamma": gamma if chance(rng, 0.8) else str(rng.choice(["scale", "auto"]))}


def basis_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    """Of sparse kernel machines for other losses, and of those that seek their C."""
    if kind == "sparse-kernel-cv":
        return {"Cs": [constant(rng) for _ in range(2)], "gammas": [1.0, 0.01], "cv": 2}
    if kind != "sparse-kernel-loss":
        return {}
    loss = str(rng.choice(["squared_hinge", "logistic", *MEASURES]))
    return {"loss": loss} | (measure_options(rng, loss, y) if loss in MEASURES else {})


def stream_options(rng, kind: str, y: np.ndarray) -> dict[str, Any]:
    options = intercept(rng)
    if "regression" in kind:
        options |= residual_loss(rng)
    else:
        options |= class_weight(rng, y)
        options["loss"] = str(rng.choice(["hinge", "squared_hinge", "logistic"]))
    if chance(rng, 0.2):
        options["alpha_dtype"] = "float32"
    memory = 100_000 if chance(rng, 0.1) else 10_000_000
    return options | {"memory": memory, "deterministic": True}


OPTIONS = {
    "linear": linear_options,
    "labels": label_options,
    "cells": kernel_options,
    "cells-regression": kernel_regression_options,
    "sparse-kernel-regression": span_options,
    "sparse-kernel-rank": span_options,
    "sparse-kernel-ordinal": span_options,
    "rank": scoring_options,
    "ordinal": scoring_options,
    "measure": scoring_options,
    "kernel": kernel_options,
    "sparse": kernel_options,
    "stream": stream_options,
    "regression": regression_options,
    "regression-kernel": kernel_regression_options,
}
