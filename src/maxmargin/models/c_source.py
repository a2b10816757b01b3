"""C source out: a linear model as one file of C99 that needs no library.

    void maxmargin_scores(const double *x, double *scores)     f_j(x) = <w_j, x> + b_j
    int maxmargin_predict(const double *x)                     the position of the label
    maxmargin_labels[position]                                 the label as text

Ordinal models predict by their thresholds; rank models have scores alone.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from maxmargin.data.atomic_files import write_atomically
from maxmargin.models.linear import LinearScores

PER_LINE = 4


def write(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a linear, measure, stream, rank or ordinal model as C source."""
    if hasattr(model, "to_model"):
        model = model.to_model()
    with write_atomically(path) as file:
        file.write(source(model).encode())


def source(model: Any) -> str:
    """The text of the file."""
    if not isinstance(model, LinearScores) or getattr(model, "features", None) is not None:
        raise ValueError(
            f"{model.kind} models cannot be written as C source: expected linear scores of the "
            "columns"
        )
    intercept = getattr(model, "intercept", np.zeros(len(model.coef)))
    classes = getattr(model, "classes", None)
    parts = [
        "/* A model of maxmargin. Compile as C99; needs nothing else. */",
        f"#define MAXMARGIN_FEATURES {model.n_features}",
        f"#define MAXMARGIN_SCORES {len(model.coef)}",
        _array("static const double maxmargin_weights", model.coef.ravel()),
        _array("static const double maxmargin_intercept", intercept),
        _SCORES,
    ]
    if classes is not None:
        labels = ", ".join(json.dumps(str(label)) for label in classes.tolist())
        parts.append(f"const char *const maxmargin_labels[] = {{{labels}}};")
        parts.append(_predict(model))
    return "\n".join(parts) + "\n"


_SCORES = """
/* x has MAXMARGIN_FEATURES values, scores room for MAXMARGIN_SCORES. */
void maxmargin_scores(const double *x, double *scores) {
    for (int j = 0; j < MAXMARGIN_SCORES; ++j) {
        const double *w = maxmargin_weights + (long)j * MAXMARGIN_FEATURES;
        double sum = 0.0;
        for (long i = 0; i < MAXMARGIN_FEATURES; ++i) sum += w[i] * x[i];
        scores[j] = sum + maxmargin_intercept[j];
    }
}
"""

_PREDICT = """
/* The position of the label of x in maxmargin_labels. */
int maxmargin_predict(const double *x) {
    double scores[MAXMARGIN_SCORES];
    maxmargin_scores(x, scores);
%s
}
"""
_BINARY = "    return scores[0] > 0;"
_LARGEST = """    int best = 0;
    for (int j = 1; j < MAXMARGIN_SCORES; ++j)
        if (scores[j] > scores[best]) best = j;
    return best;"""
_PLACE = """    int place = 0;
    while (place < %d && maxmargin_thresholds[place] < scores[0]) ++place;
    return place;"""


def _predict(model: Any) -> str:
    if hasattr(model, "thresholds"):
        cuts = _array("static const double maxmargin_thresholds", model.thresholds)
        return cuts + _PREDICT % (_PLACE % len(model.thresholds))
    return _PREDICT % (_BINARY if len(model.classes) == 2 else _LARGEST)


def _array(declaration: str, values: np.ndarray) -> str:
    """Numbers in hexadecimal, so that none loses a digit."""
    words = [float(value).hex() for value in values]
    lines = (", ".join(words[k : k + PER_LINE]) for k in range(0, len(words), PER_LINE))
    return f"{declaration}[{len(words)}] = {{\n    " + ",\n    ".join(lines) + "\n};"
