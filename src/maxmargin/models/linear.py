"""What is kept of a linear machine: ``f_j(x) = <w_j, x> + b_j``, one row of `coef` a problem.

Two classes have one row, positive for ``classes[1]``. More classes have a row each, and the largest
``f_j`` wins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.data.arrays import ArrayRows
from maxmargin.data.cpus import granted_cpus
from maxmargin.models.files import Kind, Tensors, register_kind
from maxmargin.models.labels import pack_classes, unpack_classes
from maxmargin.problem import Certificate, Status

Scalar = None | bool | int | float | str
SMALL = 1000  # rows


@dataclass(frozen=True)
class LinearScores:
    """What models of linear scores ``<w_j, x>`` share: the weights, and where they came from.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    certificates : one for each row of `coef`, or none if unknown
    solver : the method that found it
    parameters : of the estimator: plain values, lists of them, and `class_weight` as a mapping
    feature_names : of the d columns, where the training data had names
    index_base : 0 or 1, the number svmlight training text gave its first feature: test text
        must be read with the same base
    """

    coef: np.ndarray
    _: KW_ONLY
    certificates: tuple[Certificate, ...] = ()
    solver: str = "unknown"
    parameters: Mapping[str, Scalar | Mapping | Sequence] = field(default_factory=dict)
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None

    @property
    def n_features(self) -> int:
        return self.coef.shape[1]

    @property
    def certificate(self) -> Certificate | None:
        """Of the problem furthest from its optimum."""
        return max(self.certificates, key=lambda c: c.relative_gap, default=None)

    def scores(self, X, threads: int | None = None) -> np.ndarray:
        """``X coef^T``, (n, k). X is used where it lies."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(
                f"X has shape {X.shape}, but the model was trained on {self.n_features} features"
            )
        if X.shape[0] < SMALL:  # starting threads would take longer than the work
            threads = 1
        rows = ArrayRows(X, pool=_core.Pool(threads or granted_cpus()))
        scores = np.empty((rows.n, len(self.coef)), order="F")
        for j, w in enumerate(self.coef):
            scores[:, j] = rows.matvec(w)
        return scores

    def _check_origin(self) -> None:
        """Certificates and names must fit the coefficients."""
        if len(self.certificates) not in (0, len(self.coef)):
            raise ValueError(
                f"{len(self.certificates)} certificates do not fit {len(self.coef)} problems"
            )
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise ValueError(
                f"{len(self.feature_names)} feature names do not fit {self.n_features} features"
            )


@dataclass(frozen=True)
class LinearModel(LinearScores):
    """A linear classifier.

    Parameters
    ----------
    coef : ndarray of shape (k, d), float64
    intercept : ndarray of shape (k,), float64
    classes : ndarray of shape (2,) if k = 1, else (k,)
        Numbers or strings, increasing.
    certificates, solver, parameters, feature_names, index_base
        As in `LinearScores`.
    """

    intercept: np.ndarray
    classes: np.ndarray

    def __post_init__(self) -> None:
        k = len(self.coef)
        if self.coef.ndim != 2 or self.coef.size == 0 or self.intercept.shape != (k,):
            raise ValueError(
                f"a linear model needs coef (k, d) and intercept (k,), k and d at least 1; got "
                f"{self.coef.shape} and {self.intercept.shape}"
            )
        if len(self.classes) != max(k, 2) or k == 2:
            raise ValueError(f"{len(self.classes)} classes do not fit {k} rows of coefficients")
        self._check_origin()

    def decision_function(self, X, threads: int | None = None) -> np.ndarray:
        """``X coef^T + intercept``: (n,) for two classes, else (n, k). X is used where it lies."""
        scores = self.scores(X, threads) + self.intercept
        return scores.ravel() if len(self.coef) == 1 else scores

    def labels(self, scores: np.ndarray) -> np.ndarray:
        """The class each row of `decision_function` speaks for."""
        if scores.ndim == 1:
            return self.classes[(scores > 0).astype(np.intp)]
        return self.classes[np.argmax(scores, axis=1)]

    def predict(self, X, threads: int | None = None) -> np.ndarray:
        """The label of each row."""
        return self.labels(self.decision_function(X, threads))


@dataclass(frozen=True)
class MeasureModel(LinearModel):
    """A linear classifier trained for a measure of all labels, which its parameters name.

    Parameters
    ----------
    learned_intercept : ndarray of shape (k,), float64
        Of the scores that the certificates are about. `intercept` differs where it is a cut; None
        in files of earlier versions.
    """

    _: KW_ONLY
    learned_intercept: np.ndarray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        learned = self.learned_intercept
        if learned is not None and learned.shape != self.intercept.shape:
            raise ValueError(
                f"{learned.size} learned intercepts do not fit {len(self.coef)} rows of "
                "coefficients"
            )


def check_classifier(model: object, format: str) -> None:
    """Refuse to write anything but a linear classifier in another system's format."""
    if not isinstance(model, LinearModel):
        raise ValueError(
            f"a {type(model).__name__} cannot be written as {format}, which here holds linear "
            "classifiers: save it as .safetensors"
        )
    if getattr(model, "features", None) is not None:
        raise ValueError(
            f"a model that makes features on the fly cannot be written as {format}, which holds "
            "coefficients only: save it as .safetensors"
        )


def _pack(model: LinearModel) -> tuple[Tensors, dict]:
    tensors = pack_tensors(coef=model.coef, intercept=model.intercept)
    return tensors, {"classes": pack_classes(model.classes), **pack_origin(model)}


def _unpack(tensors: Tensors, content: dict) -> LinearModel:
    return _unpack_as(LinearModel, tensors, content)


def _pack_measure(model: MeasureModel) -> tuple[Tensors, dict]:
    tensors, content = _pack(model)
    if model.learned_intercept is not None:
        tensors |= pack_tensors(learned_intercept=model.learned_intercept)
    return tensors, content


def _unpack_measure(tensors: Tensors, content: dict) -> LinearModel:
    learned = {name: 1 for name in ("learned_intercept",) if name in tensors}
    return _unpack_as(MeasureModel, tensors, content, learned)


def _unpack_as(
    kind: type[LinearModel], tensors: Tensors, content: dict, more: Mapping[str, int] = {}
) -> LinearModel:
    """`more` are tensors besides those of every linear classifier, and their dimensions."""
    arrays = unpack_tensors(tensors, coef=2, intercept=1, **more)
    classes = unpack_classes(content.get("classes"))
    return kind(**arrays, classes=classes, **unpack_origin(content))


def pack_tensors(**arrays: np.ndarray) -> Tensors:
    """Arrays as float64, if all are finite."""
    tensors = {name: np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ValueError(
                f"cannot save the model: its {name} holds NaN or infinity; fit it again"
            )
    return tensors


def unpack_tensors(tensors: Tensors, **dimensions: int) -> dict[str, Any]:
    """The tensors of these names and dimensions, if a file holds just them, finite and float64."""
    if set(tensors) != set(dimensions):
        wanted = " and ".join(dimensions)
        raise ValueError(f"it holds the tensors {sorted(tensors)}, not {wanted}")
    for name, ndim in dimensions.items():
        tensor = tensors[name]
        if tensor.dtype != np.float64 or tensor.ndim != ndim:
            raise ValueError(
                f"its {name} is {tensor.dtype} with shape {tensor.shape}, not float64 {ndim}-d"
            )
        if not np.isfinite(tensor).all():
            raise ValueError(f"its {name} holds NaN or infinity")
    return tensors


def pack_origin(model: Any) -> dict:
    """Where a model came from: certificates, solver, parameters, columns."""
    return {
        "certificates": [certificate.as_dict() for certificate in model.certificates],
        "solver": model.solver,
        "parameters": {name: _pack_value(value) for name, value in model.parameters.items()},
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "index_base": model.index_base,
    }


def unpack_origin(content: dict) -> dict[str, Any]:
    """The fields that `pack_origin` was given; ValueError where the content cannot be them."""
    certificates, solver = content.get("certificates"), content.get("solver")
    parameters = content.get("parameters")
    if not isinstance(certificates, list) or not isinstance(solver, str):
        raise ValueError("its certificates or solver are missing")
    if not isinstance(parameters, dict):
        raise ValueError("its parameters are missing")
    names, base = content.get("feature_names"), content.get("index_base")
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise ValueError("its feature names are not a list of strings")
    if base not in (None, 0, 1) or isinstance(base, bool):
        raise ValueError(f"its index base is {base!r}, not 0 or 1")
    return {
        "certificates": tuple(_unpack_certificate(packed) for packed in certificates),
        "solver": solver,
        "parameters": {name: _unpack_value(name, value) for name, value in parameters.items()},
        "feature_names": None if names is None else tuple(names),
        "index_base": base,
    }


def _unpack_certificate(packed: object) -> Certificate:
    try:
        certificate = Certificate(
            primal=float(packed["primal"]),  # type: ignore[index]
            dual=float(packed["dual"]),  # type: ignore[index]
            status=Status(packed["status"]),  # type: ignore[index]
            n_iter=int(packed["n_iter"]),  # type: ignore[index]
            seconds=float(packed["seconds"]),  # type: ignore[index]
            tol=unpack_tol(packed.get("tol")),  # type: ignore[attr-defined]
        )
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise ValueError(f"its certificate is damaged ({error!r})") from error
    if not all(map(math.isfinite, (certificate.primal, certificate.dual, certificate.seconds))):
        raise ValueError("its certificate holds NaN or infinity")
    return certificate


def unpack_tol(packed: object) -> float | None:
    """The tolerance; files of earlier versions do not say it."""
    if packed is None:
        return None
    if isinstance(packed, bool) or not isinstance(packed, int | float) or not 0 <= packed < 1e300:
        raise ValueError(f"its tolerance is {packed!r}, not a number")
    return float(packed)


def _pack_value(value: object) -> object:
    """JSON types as they are; mappings (class weights) as pairs, as JSON keys are only strings."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {"pairs": [[_pack_value(key), _pack_value(item)] for key, item in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence):
        return {"list": [_pack_value(item) for item in value]}
    raise ValueError(
        f"cannot save the parameter value {value!r}: expected a number, text, list or mapping"
    )


def _unpack_value(name: str, packed: object) -> Scalar | dict | list:
    if packed is None or isinstance(packed, (bool, int, float, str)):
        return packed
    pairs = packed.get("pairs") if isinstance(packed, dict) else None
    items = packed.get("list") if isinstance(packed, dict) else None
    plain = (bool, int, float, str)
    if isinstance(items, list) and all(isinstance(item, plain) for item in items):
        return items
    if isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(v, plain) for v in pair)
        for pair in pairs
    ):
        return dict(pairs)
    raise ValueError(f"its parameter {name!r} is neither a plain value nor a list or mapping")


register_kind(Kind("linear", LinearModel, _pack, _unpack))
register_kind(Kind("measure", MeasureModel, _pack_measure, _unpack_measure))
