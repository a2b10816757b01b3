"""Models whose answers are known already: rows were scored block by block and are gone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.cli.fitting import warnings_as_messages
from maxmargin.cli.rows import bare, pieces_for
from maxmargin.cli.stages import Counting

if TYPE_CHECKING:
    from maxmargin.cli.options import Choices
    from maxmargin.cli.progress import Messages
    from maxmargin.data import Dataset


def block_by_block(
    model: Any, source: str, choices: Choices, messages: Messages
) -> tuple[Any, Dataset]:
    """What a model says of a file, a few megabytes of rows at a time, and all but the rows."""
    from maxmargin.data import Dataset
    from maxmargin.models.labels import whole_numbers

    values, parts = [], []
    stage = Counting("scoring", 0, "rows")
    with warnings_as_messages(), messages.showing(stage):
        for piece in pieces_for(model, source, choices, stage):
            values.append(bare(model).decision_function(piece.X, choices.threads))
            parts.append(replace(piece, X=np.empty((0, 0))))
            stage.done += len(values[-1])
    y, weight, qid = (_joined(parts, name) for name in ("y", "weight", "qid"))
    y = None if y is None else whole_numbers(y)
    kept = Known(model, np.concatenate(values))
    return kept, Dataset(np.empty((0, 0)), y, weight=weight, qid=qid, source=source)


def _joined(parts: list[Any], name: str) -> np.ndarray | None:
    found = [getattr(part, name) for part in parts]
    return None if any(one is None for one in found) else np.concatenate(found)


class Known:
    """A model that answers what is known, whatever it is asked about."""

    def __init__(self, model: Any, values: np.ndarray) -> None:
        self._model, self._values = model, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def decision_function(self, X: Any, threads: int | None = None) -> np.ndarray:
        return self._values

    def predict(self, X: Any, threads: int | None = None) -> np.ndarray:
        labels = getattr(self._model, "labels", None)
        return self._values if labels is None else labels(self._values)

    def places(self, X: Any, threads: int | None = None) -> np.ndarray:
        """Of an ordinal model."""
        place = {label: j for j, label in enumerate(self._model.classes.tolist())}
        return np.array([place[label] for label in self.predict(X).tolist()], dtype=np.intp)
