"""ONNX out: a graph that gives the labels and scores of a model anywhere ONNX runs, the values of a
regression, or the scores of a ranking.

linear         scores = Gemm(X, coef^T, intercept)        in float64, as predicted here
kernels        scores = k(X, B) beta                      as in `onnx_kernels`
label = classes[scores > 0]  or  classes[argmax scores]; of calibrated models the most probable; of
ordered classes the one in whose interval the score lies
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from maxmargin.data.atomic_files import write_atomically
from maxmargin.models.cells import CellModel
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_regression import KernelRegressionModel
from maxmargin.models.linear import LinearModel, LinearScores, check_features
from maxmargin.models.multi_label import MultiLabelModel
from maxmargin.models.onnx_calibration import calibration_nodes
from maxmargin.models.onnx_kernels import cell_scores, kernel_scores
from maxmargin.models.ordinal import CutScore, OrdinalModel
from maxmargin.models.ranking import RankModel
from maxmargin.models.regression import RegressionModel
from maxmargin.models.sparse_kernel import SparseKernelModel
from maxmargin.models.sparse_kernel_scores import (
    SparseKernelOrdinalModel,
    SparseKernelRankModel,
    SparseKernelRegressionModel,
)

OPSET = 17
ML_OPSET = 3
MAX_BYTES = 2**31 - 2**20  # protobuf messages end at 2 GiB


Classifying = LinearModel | KernelModel | CellModel | SparseKernelModel
Regressing = RegressionModel | KernelRegressionModel | SparseKernelRegressionModel
Ranking = RankModel | SparseKernelRankModel
Ordering = OrdinalModel | SparseKernelOrdinalModel
Exported = Classifying | Regressing | Ranking | Ordering | MultiLabelModel


def to_onnx(model: Exported, path: str | os.PathLike[str], input_type: str = "float32") -> None:
    """Write a model, or a fitted estimator's, as ONNX: input ``X``, outputs ``label, scores``, and
    ``probabilities`` of a calibrated one; of a regression the output ``values``, of a ranking
    ``scores`` alone. With several labels a row ``label`` is a matrix of 0 and 1.

    A model of a table has an input of shape (n, 1) for each column in the place of X: text for
    categories, float64 for numbers (NaN where missing) and for dates (days since 1970).

    Parameters
    ----------
    input_type : {"float32", "float64"}
        Of the rows the graph will be given; arithmetic is float64 either way.
    """
    if hasattr(model, "to_model"):
        model = model.to_model()
    if not isinstance(model, Exported):
        kind = getattr(model, "kind", type(model).__name__)
        raise ValueError(f"{kind} models cannot be written as ONNX: save it as .safetensors")
    check_features(model, "ONNX")
    if input_type not in ("float32", "float64"):
        raise ValueError(f"input_type must be 'float32' or 'float64'; got {input_type!r}")
    size = 8 * _vectors(model) * model.n_features
    if size > MAX_BYTES:
        raise ValueError(
            f"the model's {size} bytes of weights exceed ONNX's limit of 2 GiB: "
            "save it as .safetensors"
        )
    graph = _graph(model, input_type)
    with write_atomically(path) as file:
        file.write(graph.SerializeToString())


def _vectors(model: Exported) -> int:
    """How many vectors of one number a feature it holds."""
    if isinstance(model, CellModel):
        return model.n_support + len(model.cells)
    return len(model.coef) if isinstance(model, LinearScores) else len(model.coefficients)


def _graph(model: Exported, input_type: str) -> Any:
    onnx = _import_onnx()
    import maxmargin

    helper, types = onnx.helper, onnx.TensorProto
    if isinstance(model, CellModel):
        tensors, nodes = cell_scores(helper, model)
    elif isinstance(model, LinearScores):
        tensors, nodes = _linear_scores(helper, model)
    else:
        tensors, nodes = kernel_scores(helper, model)
    element = types.FLOAT if input_type == "float32" else types.DOUBLE
    opsets = [helper.make_opsetid("", OPSET)]
    inputs = [helper.make_tensor_value_info("X", element, ["n", model.n_features])]
    nodes.insert(0, helper.make_node("Cast", ["X"], ["X64"], to=types.DOUBLE))
    more, steps, outputs = _end(model)(helper, types, model)
    tensors |= more
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in tensors.items()]
    if isinstance(model, (Classifying, Ordering)):
        constants.append(_classes_tensor(onnx, model.classes))
    if model.encoder is not None:
        encoded = _encoded(onnx, model, [*nodes[1:], *steps], [*tensors, "classes"])
        inputs, nodes = encoded.inputs, encoded.nodes + nodes[1:]
        constants += encoded.constants
        opsets.append(helper.make_opsetid("ai.onnx.ml", ML_OPSET))
    graph = helper.make_graph(
        nodes + steps,
        "maxmargin",
        inputs,
        [helper.make_tensor_value_info(name, *about) for name, about in outputs.items()],
        constants,
    )
    exported = helper.make_model(
        graph,
        producer_name="maxmargin",
        producer_version=maxmargin.__version__,
        opset_imports=opsets,
        ir_version=8,  # the one that came with the opset, so older runtimes accept the file
    )
    onnx.checker.check_model(exported)
    return exported


def _end(model: Exported) -> Any:
    """What makes the outputs of f."""
    if isinstance(model, Regressing):
        return _values
    if isinstance(model, Ranking):
        return _one_score
    if isinstance(model, MultiLabelModel):
        return _indicators
    return _places if isinstance(model, CutScore) else _labels


def _encoded(onnx: Any, model: Any, nodes: list[Any], constants: list[str]) -> Any:
    """The part of the graph that makes rows of the columns of a table."""
    from maxmargin.models.onnx_encoding import encoding_graph  # it needs pyarrow, slow to import

    own = {name for node in nodes for name in (*node.input, *node.output)}
    own |= {"X64", "f", "scores", "positive", "winner", "label", *constants}
    return encoding_graph(onnx, model.encoder, own)


def _values(
    helper: Any, types: Any, model: Regressing
) -> tuple[dict[str, np.ndarray], list[Any], dict[str, Any]]:
    """Constants, nodes and outputs of a regression: f itself, its rows sorted where asked for."""
    k = len(model.coef) if isinstance(model, RegressionModel) else model.coefficients.shape[1]
    constants = {"shape": np.array([-1] if k == 1 else [-1, k])}
    steps, end = [], "f"
    if model.parameters.get("non_crossing"):
        constants["count"] = np.array([k])
        steps = [helper.make_node("TopK", ["f", "count"], ["sorted", "places"], largest=0)]
        end = "sorted"
    steps.append(helper.make_node("Reshape", [end, "shape"], ["values"]))
    return constants, steps, {"values": (types.DOUBLE, ["n", k][: 1 + (k > 1)])}


def _one_score(
    helper: Any, types: Any, model: Ranking
) -> tuple[dict[str, np.ndarray], list[Any], dict[str, Any]]:
    """Constants, nodes and outputs of a ranking: f itself."""
    steps = [helper.make_node("Reshape", ["f", "shape"], ["scores"])]
    return {"shape": np.array([-1])}, steps, {"scores": (types.DOUBLE, ["n"])}


def _indicators(
    helper: Any, types: Any, model: MultiLabelModel
) -> tuple[dict[str, np.ndarray], list[Any], dict[str, Any]]:
    """Constants, nodes and outputs of several labels a row, each where its score is positive."""
    k = len(model.coef)
    steps = [
        helper.make_node("Identity", ["f"], ["scores"]),
        helper.make_node("Greater", ["f", "zero"], ["positive"]),
        helper.make_node("Cast", ["positive"], ["label"], to=types.INT64),
    ]
    outputs = {"label": (types.INT64, ["n", k]), "scores": (types.DOUBLE, ["n", k])}
    if model.has_probabilities:
        steps.append(helper.make_node("Sigmoid", ["f"], ["probabilities"]))
        outputs["probabilities"] = (types.DOUBLE, ["n", k])
    return {"zero": np.array(0.0)}, steps, outputs


def _places(
    helper: Any, types: Any, model: Ordering
) -> tuple[dict[str, np.ndarray], list[Any], dict[str, Any]]:
    """Constants, nodes and outputs of ordered classes: how many thresholds are below the score."""
    node, k = helper.make_node, len(model.classes)
    constants = {"thresholds": np.ascontiguousarray(model.thresholds), "across": np.array([1])}
    steps = [
        node("Greater", ["f", "thresholds"], ["above"]),
        node("Cast", ["above"], ["ones"], to=types.INT64),
        node("ReduceSum", ["ones", "across"], ["winner"], keepdims=0),
        node("Gather", ["classes", "winner"], ["label"]),
        node("Sub", ["f", "low"], ["over"]),
    ]
    if k == 2:
        constants |= {"low": model.thresholds, "shape": np.array([-1])}
        steps.append(node("Reshape", ["over", "shape"], ["scores"]))
    else:
        constants["low"] = np.concatenate(([-np.inf], model.thresholds))
        constants["high"] = np.concatenate((model.thresholds, [np.inf]))
        steps += [node("Sub", ["high", "f"], ["under"]), node("Min", ["over", "under"], ["scores"])]
    scores = (types.DOUBLE, ["n", k][: 1 + (k > 2)])
    return constants, steps, {"label": (_label_type(types, model), ["n"]), "scores": scores}


def _label_type(types: Any, model: Classifying | Ordering) -> Any:
    kind = model.classes.dtype.kind
    return types.STRING if kind in "UO" else types.DOUBLE if kind == "f" else types.INT64


def _labels(
    helper: Any, types: Any, model: Classifying
) -> tuple[dict[str, np.ndarray], list[Any], dict[str, Any]]:
    """Constants, nodes and outputs of a classifier."""
    constants, steps = _decision(helper, types, model)
    steps.append(helper.make_node("Gather", ["classes", "winner"], ["label"]))
    k = len(model.classes)
    outputs = {
        "label": (_label_type(types, model), ["n"]),
        "scores": (types.DOUBLE, ["n", k][: 1 + (k > 2)]),
    }
    if model.calibration is not None:
        outputs["probabilities"] = (types.DOUBLE, ["n", k])
    return constants, steps, outputs


def _decision(
    helper: Any, types: Any, model: Classifying
) -> tuple[dict[str, np.ndarray], list[Any]]:
    """Constants and nodes from f to the scores and the place of the class."""
    node, two = helper.make_node, len(model.classes) == 2
    constants = {"shape": np.array([-1] if two else [-1, len(model.classes)])}
    if model.calibration is not None:
        more, nodes = calibration_nodes(helper, model.calibration)
        return constants | more, [
            *nodes,
            node("Reshape", ["z", "shape"], ["scores"]),
            node("ArgMax", ["probabilities"], ["winner"], axis=1, keepdims=0),
        ]
    nodes = [node("Reshape", ["f", "shape"], ["scores"])]
    if not two:
        return constants, [*nodes, node("ArgMax", ["f"], ["winner"], axis=1, keepdims=0)]
    nodes += [
        node("Greater", ["scores", "zero"], ["positive"]),
        node("Cast", ["positive"], ["winner"], to=types.INT64),
    ]
    return constants | {"zero": np.array(0.0)}, nodes


def _linear_scores(helper: Any, model: LinearScores) -> tuple[dict[str, np.ndarray], list[Any]]:
    """Constants and nodes from X64 to f."""
    tensors = {
        "coef": np.ascontiguousarray(model.coef),
        "intercept": np.ascontiguousarray(getattr(model, "intercept", np.zeros(len(model.coef)))),
    }
    return tensors, [helper.make_node("Gemm", ["X64", "coef", "intercept"], ["f"], transB=1)]


def _classes_tensor(onnx: Any, classes: np.ndarray) -> Any:
    """Labels as a constant."""
    types = onnx.TensorProto
    if classes.dtype.kind in "UO":
        labels = [str(label).encode() for label in classes]
        return onnx.helper.make_tensor("classes", types.STRING, [len(labels)], labels)
    wide = classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)
    return onnx.numpy_helper.from_array(wide, "classes")


def _import_onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError as error:
        raise ImportError(
            "writing ONNX needs the onnx package: pip install 'maxmargin[onnx]'"
        ) from error
    return onnx
