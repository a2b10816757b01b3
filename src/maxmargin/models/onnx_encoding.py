"""The columns of a table in ONNX: one input a column, encoded side by side into the rows X64.

numbers, true and false  float64, NaN where missing          (x - centre) / scale, and an indicator
dates                    float64, days since 1970            as numbers
categories               text, "" where missing              LabelEncoder, then an indicator a value
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.data.encoding.categories import CategoryColumn
from maxmargin.data.encoding.encoding import TableEncoding
from maxmargin.data.encoding.numbers import NumberColumn
from maxmargin.data.encoding.values import MISSING


@dataclass
class EncodingGraph:
    """What encodes columns: inputs of the graph, constants, and nodes that end in X64."""

    onnx: Any
    dtype: str
    inputs: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)

    def node(self, kind: str, inputs: list[str], output: str, **about: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], **about))
        return output

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def input(self, name: str, kind: int) -> str:
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, ["n", 1]))
        return name

    def number(self, at: int, column: NumberColumn, name: str) -> list[str]:
        """Features of a column of numbers."""
        types, made = self.onnx.TensorProto, f"encode.{at}"
        x = self.input(name, types.DOUBLE)
        missing = self.node("IsNaN", [x], f"{made}.missing")
        parts = []
        if column.varies:
            centre = self.constant(f"{made}.centre", np.float64(column.centre))
            scale = self.constant(f"{made}.scale", np.float64(column.scale))
            zero = self.constant(f"{made}.zero", np.float64(0.0))
            moved = self.node("Sub", [x, centre], f"{made}.moved")
            scaled = self.node("Div", [moved, scale], f"{made}.scaled")
            known = self.node("Where", [missing, zero, scaled], f"{made}.known")
            if self.dtype == "float32":  # rows have as many digits as in training
                short = self.node("Cast", [known], f"{made}.short", to=types.FLOAT)
                known = self.node("Cast", [short], f"{made}.feature", to=types.DOUBLE)
            parts.append(known)
        if column.indicator:
            parts.append(self.node("Cast", [missing], f"{made}.indicator", to=types.DOUBLE))
        return parts

    def category(self, at: int, column: CategoryColumn, name: str) -> list[str]:
        """Features of a column of categories."""
        types, made = self.onnx.TensorProto, f"encode.{at}"
        x = self.input(name, types.STRING)
        places = {value: place for place, value in enumerate(column.values)}
        if column.missing:
            words = {form(word) for word in MISSING for form in (str, str.upper, str.title)}
            places |= dict.fromkeys(words | {"NaN", "NaT"}, column.width - 1)
        place = self.node(
            "LabelEncoder",
            [x],
            f"{made}.place",
            domain="ai.onnx.ml",
            keys_strings=list(places),
            values_int64s=list(places.values()),
            default_int64=len(column.values) if column.rare else -1,
        )
        every = self.constant(f"{made}.every", np.arange(column.width, dtype=np.int64))
        same = self.node("Equal", [place, every], f"{made}.same")
        return [self.node("Cast", [same], f"{made}.features", to=types.DOUBLE)]


def encoding_graph(onnx: Any, encoding: TableEncoding, taken: set[str]) -> EncodingGraph:
    """The graph of an encoding; columns whose names are `taken` get an underscore behind them."""
    made = EncodingGraph(onnx, encoding.dtype)
    parts: list[str] = []
    for at, column in enumerate(encoding.columns):
        name = column.name
        while name in taken or name.startswith("encode."):
            name += "_"
        if isinstance(column, NumberColumn):
            parts += made.number(at, column, name)
        elif isinstance(column, CategoryColumn):
            parts += made.category(at, column, name)
        else:
            raise ValueError(
                f"the model has the column of text {column.name!r}, whose words are hashed, which "
                "ONNX cannot do: train without it (--drop), or save it as .safetensors"
            )
    made.node("Concat", parts, "X64", axis=1)
    return made
