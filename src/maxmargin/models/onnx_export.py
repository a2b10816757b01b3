"""ONNX out: a graph that gives the labels and scores of a linear model anywhere ONNX runs.

scores = Gemm(X, coef^T, intercept)                       in float64, as predicted here
label  = classes[scores > 0]  or  classes[argmax scores]
"""

from __future__ import annotations

import os

import numpy as np

from maxmargin.data.files import write_atomically
from maxmargin.models.linear import LinearModel, check_classifier

OPSET = 17
MAX_BYTES = 2**31 - 2**20  # protobuf messages end at 2 GiB


def to_onnx(model: LinearModel, path: str | os.PathLike, input_type: str = "float32") -> None:
    """Write a model, or a fitted estimator's, as ONNX: input ``X``, outputs ``label, scores``.

    Parameters
    ----------
    input_type : {"float32", "float64"}
        Of the rows the graph will be given; arithmetic is float64 either way.
    """
    if hasattr(model, "to_model"):
        model = model.to_model()
    check_classifier(model, "ONNX")
    if input_type not in ("float32", "float64"):
        raise ValueError(f"input_type must be 'float32' or 'float64'; got {input_type!r}")
    if model.coef.nbytes > MAX_BYTES:
        raise ValueError(
            f"the model's {model.coef.nbytes} bytes of weights exceed ONNX's limit of 2 GiB: "
            "save it as .safetensors"
        )
    graph = _graph(model, input_type)
    with write_atomically(path) as file:
        file.write(graph.SerializeToString())


def _graph(model: LinearModel, input_type: str):
    onnx = _import_onnx()
    import maxmargin

    helper, types = onnx.helper, onnx.TensorProto
    binary = len(model.coef) == 1
    classes, label_type = _classes_tensor(onnx, model.classes)
    constants = [
        onnx.numpy_helper.from_array(np.ascontiguousarray(model.coef), "coef"),
        onnx.numpy_helper.from_array(np.ascontiguousarray(model.intercept), "intercept"),
        classes,
    ]
    nodes = [
        helper.make_node("Cast", ["X"], ["X64"], to=types.DOUBLE),
        helper.make_node("Gemm", ["X64", "coef", "intercept"], ["f"], transB=1),
    ]
    if binary:
        constants.append(onnx.numpy_helper.from_array(np.array([-1]), "flat"))
        constants.append(onnx.numpy_helper.from_array(np.array(0.0), "zero"))
        nodes += [
            helper.make_node("Reshape", ["f", "flat"], ["scores"]),
            helper.make_node("Greater", ["scores", "zero"], ["positive"]),
            helper.make_node("Cast", ["positive"], ["winner"], to=types.INT64),
        ]
    else:
        nodes += [
            helper.make_node("Identity", ["f"], ["scores"]),
            helper.make_node("ArgMax", ["f"], ["winner"], axis=1, keepdims=0),
        ]
    nodes.append(helper.make_node("Gather", ["classes", "winner"], ["label"]))
    element = types.FLOAT if input_type == "float32" else types.DOUBLE
    scores_shape = ["n"] if binary else ["n", len(model.coef)]
    graph = helper.make_graph(
        nodes,
        "maxmargin_linear",
        [helper.make_tensor_value_info("X", element, ["n", model.n_features])],
        [
            helper.make_tensor_value_info("label", label_type, ["n"]),
            helper.make_tensor_value_info("scores", types.DOUBLE, scores_shape),
        ],
        constants,
    )
    exported = helper.make_model(
        graph,
        producer_name="maxmargin",
        producer_version=maxmargin.__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=8,  # the one that came with the opset, so older runtimes accept the file
    )
    onnx.checker.check_model(exported)
    return exported


def _classes_tensor(onnx, classes: np.ndarray):
    """Labels as a constant, and the ONNX type they have."""
    types = onnx.TensorProto
    if classes.dtype.kind in "UO":
        labels = [str(label).encode() for label in classes]
        return onnx.helper.make_tensor("classes", types.STRING, [len(labels)], labels), types.STRING
    wide = classes.astype(np.float64 if classes.dtype.kind == "f" else np.int64)
    tensor = onnx.numpy_helper.from_array(wide, "classes")
    return tensor, tensor.data_type


def _import_onnx():
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
