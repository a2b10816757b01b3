"""Calibrated probabilities as ONNX: from the scores f (n, k) of a machine to log-odds and shares.

sigmoid     z = slope f + offset
isotonic    z = v_0 + sum_m g_m clip(f - x_m, 0, x_m+1 - x_m)        g_m: slope between two knots
p           sigmoid(z), over their sum; two classes: sigmoid(-z), sigmoid(z)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.models.calibration import Calibration, Isotonic, Sigmoid

GRAIN = 1e-12  # of log-odds: far below what a probability shows


def calibration_nodes(
    helper: Any, calibration: Calibration
) -> tuple[dict[str, np.ndarray], list[Any]]:
    """Constants and nodes from f to z and probabilities."""
    if isinstance(calibration, Sigmoid):
        constants = {"slope": calibration.slope, "offset": calibration.offset}
        nodes = [
            helper.make_node("Mul", ["f", "slope"], ["sloped"]),
            helper.make_node("Add", ["sloped", "offset"], ["z"]),
        ]
    else:
        assert isinstance(calibration, Isotonic)
        constants, nodes = _isotonic(helper, calibration)
    return constants, nodes + _shares(helper, calibration.problems)


def _isotonic(helper: Any, calibration: Isotonic) -> tuple[dict[str, np.ndarray], list[Any]]:
    constants: dict[str, np.ndarray] = {"no_length": np.array(0.0)}
    nodes, columns = [], []
    for j in range(calibration.problems):
        own = slice(calibration.starts[j], calibration.starts[j + 1])
        x, v = calibration.knots[own], calibration.values[own]
        x, v = (x, v) if len(x) > 1 else (np.append(x, x + 1), np.append(v, v))
        widths = np.diff(x)
        constants |= {
            f"column{j}": np.array([j]),
            f"knots{j}": x[:-1],
            f"widths{j}": widths,
            f"slopes{j}": (np.diff(v) / widths)[:, None],
            f"first{j}": v[:1],
        }
        nodes += [
            helper.make_node("Gather", ["f", f"column{j}"], [f"f{j}"], axis=1),
            helper.make_node("Sub", [f"f{j}", f"knots{j}"], [f"beyond{j}"]),
            helper.make_node("Max", [f"beyond{j}", "no_length"], [f"after{j}"]),
            helper.make_node("Min", [f"after{j}", f"widths{j}"], [f"within{j}"]),
            helper.make_node("MatMul", [f"within{j}", f"slopes{j}"], [f"rise{j}"]),
            helper.make_node("Add", [f"rise{j}", f"first{j}"], [f"z{j}"]),
        ]
        columns.append(f"z{j}")
    # Sums of slopes are off in the last digit; a step at even odds must be that exactly.
    constants["grain"] = np.array(GRAIN)
    return constants, [
        *nodes,
        helper.make_node("Concat", columns, ["summed"], axis=1),
        helper.make_node("Div", ["summed", "grain"], ["grains"]),
        helper.make_node("Round", ["grains"], ["whole_grains"]),
        helper.make_node("Mul", ["whole_grains", "grain"], ["z"]),
    ]


def _shares(helper: Any, problems: int) -> list[Any]:
    """From log-odds to probabilities."""
    if problems == 1:
        return [
            helper.make_node("Neg", ["z"], ["against"]),
            helper.make_node("Concat", ["against", "z"], ["either_way"], axis=1),
            helper.make_node("Sigmoid", ["either_way"], ["probabilities"]),
        ]
    return [
        helper.make_node("Sigmoid", ["z"], ["alone"]),
        helper.make_node("ReduceL1", ["alone"], ["together"], axes=[1], keepdims=1),
        helper.make_node("Div", ["alone", "together"], ["probabilities"]),
    ]
