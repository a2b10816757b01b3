"""What is kept of a machine trained on a stream: a linear model, and the map that makes features.

``f_j(x) = <w_j, phi(x)> + b_j``
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.cpus import granted_cpus
from maxmargin.data.features import FeatureMap, unpack
from maxmargin.data.stream.blocks import Strings
from maxmargin.data.stream.sources import ArraySource
from maxmargin.models.files import Kind, Tensors, register_kind
from maxmargin.models.labels import pack_classes, unpack_classes
from maxmargin.models.linear import (
    LinearModel,
    pack_origin,
    pack_tensors,
    unpack_origin,
    unpack_tensors,
)

PREFIX = "features."


@dataclass(frozen=True)
class StreamModel(LinearModel):
    """A linear classifier on features made from the rows.

    Parameters
    ----------
    features : FeatureMap or None
        Applied to rows before they are scored.
    rows : {"dense", "csr", "strings"}
        What rows it was trained on.
    d_in : int
        Columns of the rows before the map; 0 for strings.
    coef, intercept, classes, certificates, solver, parameters, feature_names, index_base
        As in `LinearModel`; `coef` has as many columns as the map makes features.
    """

    features: FeatureMap | None = None
    rows: str = "csr"
    d_in: int = 0

    @property
    def n_features(self) -> int:
        """Columns of the rows that are given to it."""
        return self.d_in

    def _check_origin(self) -> None:
        if self.rows not in ("dense", "csr", "strings") or self.d_in < 0:
            raise ValueError(f"rows {self.rows!r} of {self.d_in} columns are of no known kind")
        if (self.rows == "strings") != (self.d_in == 0):
            raise ValueError(f"rows {self.rows!r} cannot have {self.d_in} columns")
        super()._check_origin()

    def scores(self, X: Any, threads: int | None = None) -> np.ndarray:
        """``phi(X) coef^T``, (n, k); a list of texts is one of strings."""
        if self.features is None:
            return super().scores(X, threads)
        if not hasattr(X, "shape"):
            X = next(ArraySource(X, block_bytes=1 << 62).blocks()).X if len(X) else no_strings()
        if isinstance(X, Strings) != (self.rows == "strings") or X.shape[1] != self.d_in:
            found = "strings" if isinstance(X, Strings) else f"rows of {X.shape[1]} columns"
            wanted = "strings" if self.rows == "strings" else f"rows of {self.d_in} columns"
            raise ValueError(f"X has {found}, but the model was trained on {wanted}")
        return self.features.scores(X, self.coef, _core.Pool(threads or granted_cpus()))


def no_strings() -> Strings:
    return Strings(np.zeros(0, np.uint8), np.zeros(1, np.int64))


def _pack(model: StreamModel) -> tuple[Tensors, dict]:
    tensors = pack_tensors(coef=model.coef, intercept=model.intercept)
    plain = None
    if model.features is not None:
        plain, arrays = model.features.packed()
        tensors |= {PREFIX + name: array for name, array in arrays.items()}
    content = {
        "classes": pack_classes(model.classes),
        **pack_origin(model),
        "features": plain,
        "rows": model.rows,
        "d_in": model.d_in,
    }
    return tensors, content


def _unpack(tensors: Tensors, content: dict) -> StreamModel:
    ours = {name: tensor for name, tensor in tensors.items() if not name.startswith(PREFIX)}
    arrays = {name[len(PREFIX) :]: tensors[name] for name in tensors if name.startswith(PREFIX)}
    linear = unpack_tensors(ours, coef=2, intercept=1)
    plain, d_in, width = content.get("features"), content.get("d_in"), linear["coef"].shape[1]
    if type(d_in) is not int or not isinstance(content.get("rows"), str):
        raise ValueError("it does not say what rows it is for")
    features = None if plain is None else unpack(plain, arrays)
    if features is None and (arrays or d_in != width):
        raise ValueError(f"its {width} coefficients do not fit rows of {d_in} columns")
    if features is not None:
        core = features.in_core(d_in)
        made = core.d if core is not None else getattr(features, "n", None)
        if made != width:
            raise ValueError(f"its {width} coefficients do not fit {made} features")
    return StreamModel(
        **linear,
        classes=unpack_classes(content.get("classes")),
        **unpack_origin(content),
        features=features,
        rows=content["rows"],
        d_in=d_in,
    )


register_kind(Kind("stream", StreamModel, _pack, _unpack))
