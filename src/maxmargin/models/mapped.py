"""What is kept of linear machines whose features are made on the fly, one class a kind."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from maxmargin.models.linear import LinearModel, LinearScores, MeasureModel
from maxmargin.models.ordinal import OrdinalModel
from maxmargin.models.ranking import RankModel
from maxmargin.models.regression import RegressionModel
from maxmargin.models.stream import OnFeatures

SUFFIX = "-features"  # of their kinds


@dataclass(frozen=True)
class LinearFeaturesModel(OnFeatures, LinearModel):
    """A linear classifier on features made from the rows."""

    kind = LinearModel.kind + SUFFIX


@dataclass(frozen=True)
class MeasureFeaturesModel(OnFeatures, MeasureModel):
    """The same, trained for a measure."""

    kind = MeasureModel.kind + SUFFIX


@dataclass(frozen=True)
class RegressionFeaturesModel(OnFeatures, RegressionModel):
    """A linear regression on features made from the rows."""

    kind = RegressionModel.kind + SUFFIX


@dataclass(frozen=True)
class RankFeaturesModel(OnFeatures, RankModel):
    """A ranking by features made from the rows."""

    kind = RankModel.kind + SUFFIX


@dataclass(frozen=True)
class OrdinalFeaturesModel(OnFeatures, OrdinalModel):
    """Ordered labels by features made from the rows."""

    kind = OrdinalModel.kind + SUFFIX


CLASSES: dict[type[LinearScores], type[OnFeatures]] = {
    LinearModel: LinearFeaturesModel,
    MeasureModel: MeasureFeaturesModel,
    RegressionModel: RegressionFeaturesModel,
    RankModel: RankFeaturesModel,
    OrdinalModel: OrdinalFeaturesModel,
}


def with_features(model: Any, features: Any, rows: str, d: int) -> Any:
    """A model of features as one of the rows, of this kind and d columns, that they are made of."""
    if type(model) not in CLASSES:
        raise ValueError(f"a {model.kind} model has no features made on the fly: make them before")
    own = {f.name: getattr(model, f.name) for f in fields(model)}
    return CLASSES[type(model)](**own, features=features, rows=rows, d_in=d)
