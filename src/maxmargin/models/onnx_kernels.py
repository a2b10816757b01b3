"""Kernel machines as nodes of an ONNX graph: from rows ``X64`` to predictions ``f``.

    kernel values    products with the vectors, then the function of each kernel
    one against one  votes of all pairs, sums of predictions breaking ties
    cells            which side of every cut a row is on says which cell it is in; the kernel values
                     of all other cells count zero times

A graph has no jumps: a model in cells computes the values of all its support vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.models.cells import CellModel
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_regression import KernelRegressionModel
from maxmargin.models.sparse_kernel import SparseKernelModel
from maxmargin.models.sparse_kernel_scores import SpanScores
from maxmargin.solvers.kernel.cells import CellTree
from maxmargin.solvers.kernel.coding import OneVsOne
from maxmargin.solvers.kernel.gram import Kernel

Tensors = dict[str, np.ndarray]


def kernel_scores(
    helper: Any,
    model: KernelModel | SparseKernelModel | KernelRegressionModel | SpanScores,
) -> tuple[Tensors, list[Any]]:
    """Constants and nodes from X64 to f: inner products, kernel values, their sums."""
    if not isinstance(model.kernel, Kernel):
        raise ValueError(
            f"the kernel {model.kernel!r} cannot be written as ONNX, which needs a kernel by name"
        )
    tensors, nodes = kernel_nodes(helper, model.kernel, dense(model.vectors), model.kernel.gamma)
    tensors["beta"] = np.ascontiguousarray(model.coefficients)
    pairwise = isinstance(model, KernelModel) and isinstance(model.coding, OneVsOne)
    out = "pairs" if pairwise else "f"
    name = "intercept" if isinstance(model, SparseKernelModel) else "offsets"
    offsets = getattr(model, name, None)  # others have none
    nodes.append(helper.make_node("MatMul", ["K", "beta"], [out if offsets is None else "sums_k"]))
    if offsets is not None:
        tensors["offsets"] = offsets
        nodes.append(helper.make_node("Add", ["sums_k", "offsets"], [out]))
    if pairwise:
        assert isinstance(model, KernelModel)
        votes, more = vote_nodes(helper, OneVsOne(len(model.classes)))
        tensors, nodes = tensors | votes, nodes + more
    return tensors, nodes


def dense(vectors: Any) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


def kernel_nodes(helper: Any, kernel: Kernel, vectors: np.ndarray, gamma: Any) -> tuple[Any, ...]:
    """Nodes from X64 to K; `gamma` is one number, or one a vector."""
    node = helper.make_node
    tensors: Tensors = {}
    if kernel.of_distance:  # about a centre, as distances between close points need their digits
        centre = vectors.mean(axis=0, dtype=np.float64) if len(vectors) else np.zeros(1)
        vectors = vectors.astype(np.float64) - centre
        tensors |= {
            "centre": centre,
            "norms": np.einsum("ij,ij->i", vectors, vectors),
            "factor": -np.asarray(gamma, dtype=np.float64),
            "minus_two": np.array(-2.0),
            "features": np.array([1]),
            "nothing": np.array(0.0),
        }
        nodes = [
            node("Sub", ["X64", "centre"], ["x"]),
            node("MatMul", ["x", "basis"], ["products"]),
            node("Mul", ["products", "minus_two"], ["twice"]),
            node("Mul", ["x", "x"], ["squares"]),
            node("ReduceSum", ["squares", "features"], ["own"], keepdims=1),
            node("Add", ["own", "norms"], ["both"]),
            node("Add", ["both", "twice"], ["signed"]),
            node("Max", ["signed", "nothing"], ["distances"]),
        ]
        if kernel.name == "laplacian":
            nodes.append(node("Sqrt", ["distances"], ["lengths"]))
        last = "lengths" if kernel.name == "laplacian" else "distances"
        nodes += [node("Mul", [last, "factor"], ["exponent"]), node("Exp", ["exponent"], ["K"])]
    else:
        nodes = [node("MatMul", ["X64", "basis"], ["K" if kernel.name == "linear" else "products"])]
    if kernel.name == "poly":
        tensors |= {
            "gamma": np.asarray(gamma, dtype=np.float64),
            "coef0": np.array(kernel.coef0),
            "degree": np.array(float(kernel.degree)),
        }
        nodes += [
            node("Mul", ["products", "gamma"], ["scaled"]),
            node("Add", ["scaled", "coef0"], ["shifted"]),
            node("Pow", ["shifted", "degree"], ["K"]),
        ]
    tensors["basis"] = np.ascontiguousarray(vectors.T, dtype=np.float64)
    return tensors, nodes


def vote_nodes(helper: Any, coding: OneVsOne) -> tuple[Tensors, list[Any]]:
    """From predictions of pairs to scores of classes, as `OneVsOne.scores` makes them."""
    node = helper.make_node
    first = np.zeros((len(coding.pairs), coding.n_classes))
    second = np.zeros_like(first)
    for p, (a, b) in enumerate(coding.pairs):
        first[p, a] = second[p, b] = 1.0
    tensors = {
        "for_first": first,
        "for_second": second,
        "first_less_second": first - second,
        "no_vote": np.array(0.0),
        "one": np.array(1.0),
        "three": np.array(3.0),
    }
    return tensors, [
        node("Greater", ["pairs", "no_vote"], ["won"]),
        node("Cast", ["won"], ["wins"], to=11),  # float64
        node("Sub", ["one", "wins"], ["losses"]),
        node("MatMul", ["wins", "for_first"], ["votes_first"]),
        node("MatMul", ["losses", "for_second"], ["votes_second"]),
        node("Add", ["votes_first", "votes_second"], ["votes"]),
        node("MatMul", ["pairs", "first_less_second"], ["sums"]),
        node("Abs", ["sums"], ["sizes"]),
        node("Add", ["sizes", "one"], ["larger"]),
        node("Mul", ["larger", "three"], ["scale"]),
        node("Div", ["sums", "scale"], ["shares"]),
        node("Add", ["votes", "shares"], ["f"]),
    ]


# ---------------------------------------------------------------- cells


def cell_scores(helper: Any, model: CellModel) -> tuple[Tensors, list[Any]]:
    """Constants and nodes from X64 to f, for cells with one problem a class."""
    k = len(model.classes)
    if model.multi_class == "ovo" and any(len(cell.codes) > 2 for cell in model.cells):
        raise ValueError(
            "a model in cells with one-vs-one machines cannot be written as ONNX: fit with "
            "multi_class='ovr', or save it as .safetensors"
        )
    sizes = [cell.vectors.shape[0] for cell in model.cells]
    vectors = np.concatenate([dense(cell.vectors) for cell in model.cells])
    gammas = np.repeat([cell.gamma for cell in model.cells], sizes)
    tensors, nodes = kernel_nodes(helper, model.kernel, vectors, gammas)
    more, routes = route_nodes(helper, model.tree)
    known = np.zeros((len(model.cells), k))
    constant = np.zeros((len(model.cells), k))
    for number, cell in enumerate(model.cells):
        known[number, cell.codes] = 1.0
        if cell.is_constant:
            constant[number, cell.codes] = 1.0
    tensors |= more | {
        "cell_of": np.repeat(np.arange(len(sizes)), sizes),
        "beta": np.concatenate([class_coefficients(cell, k) for cell in model.cells]),
        "known": known,
        "constant": constant,
        "half": np.array(0.5),
        "two": np.array(2.0),
        "huge": np.array(1e300),
    }
    node = helper.make_node
    nodes += [
        *routes,
        node("Gather", ["inside", "cell_of"], ["mine"], axis=1),
        node("Mul", ["K", "mine"], ["K_mine"]),
        node("MatMul", ["K_mine", "beta"], ["sums"]),
        node("MatMul", ["inside", "constant"], ["constants"]),
        node("Add", ["sums", "constants"], ["known_f"]),
        node("MatMul", ["inside", "known"], ["knows"]),
        node("Greater", ["knows", "half"], ["is_known"]),
        node("Where", ["is_known", "known_f", "huge"], ["or_huge"]),
        node("ReduceMin", ["or_huge"], ["least"], axes=[1], keepdims=1),
        node("Sub", ["least", "two"], ["below"]),
        node("Where", ["is_known", "known_f", "below"], ["by_class"]),
    ]
    if k > 2:
        return tensors, [*nodes, node("Identity", ["by_class"], ["f"])]
    tensors["difference"] = np.array([[-0.5], [0.5]])
    return tensors, [*nodes, node("MatMul", ["by_class", "difference"], ["f"])]


def class_coefficients(cell: Any, k: int) -> np.ndarray:
    """One column a class of the model; of two classes in a cell the columns are -f and f."""
    beta = np.zeros((cell.vectors.shape[0], k))
    if len(cell.codes) == 2:
        beta[:, cell.codes] = cell.coefficients[:, :1] * np.array([[-1.0, 1.0]])
    elif not cell.is_constant:
        beta[:, cell.codes] = cell.coefficients
    return beta


def route_nodes(helper: Any, tree: CellTree) -> tuple[Tensors, list[Any]]:
    """From X64 to `inside`: 1 for the cell of a row, 0 for all others."""
    node = helper.make_node
    turns, depth = turns_to_cells(tree)
    tensors = {"turns": turns, "wanted": depth - 0.5}
    if not len(tree.thresholds):
        tensors |= {
            "ones": np.array([[1.0]]),
            "sum_over": np.array([1]),
            "times_zero": np.array(0.0),
        }
        return tensors, [
            node("ReduceSum", ["X64", "sum_over"], ["total"], keepdims=1),
            node("Mul", ["total", "times_zero"], ["zeros"]),
            node("Add", ["zeros", "ones"], ["inside"]),
        ]
    tensors |= {
        "cuts": np.ascontiguousarray(tree.directions.T),
        "thresholds": tree.thresholds,
        "plus": np.array(1.0),
        "twice_over": np.array(2.0),
    }
    return tensors, [
        node("MatMul", ["X64", "cuts"], ["along"]),
        node("Greater", ["along", "thresholds"], ["beyond"]),
        node("Cast", ["beyond"], ["beyond64"], to=11),
        node("Mul", ["beyond64", "twice_over"], ["doubled"]),
        node("Sub", ["doubled", "plus"], ["side"]),  # -1 left, +1 right
        node("MatMul", ["side", "turns"], ["agreements"]),
        node("Greater", ["agreements", "wanted"], ["is_inside"]),
        node("Cast", ["is_inside"], ["inside"], to=11),
    ]


def turns_to_cells(tree: CellTree) -> tuple[np.ndarray, np.ndarray]:
    """(cuts, cells): -1 where the way to a cell goes left, +1 right, 0 where it does not pass."""
    k = len(tree.thresholds)
    turns, depth = np.zeros((k, k + 1)), np.zeros(k + 1)
    waiting: list[tuple[int, dict[int, float]]] = [(0, {})] if k else []
    while waiting:
        cut, way = waiting.pop()
        for side, child in ((-1.0, tree.left[cut]), (1.0, tree.right[cut])):
            onward = way | {cut: side}
            if child >= 0:
                waiting.append((int(child), onward))
                continue
            for passed, turn in onward.items():
                turns[passed, -1 - child] = turn
            depth[-1 - child] = len(onward)
    return turns, depth
