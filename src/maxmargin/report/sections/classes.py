"""How well labels are predicted: ratios, confusion, curves with the operating point, scores."""

from __future__ import annotations

import numpy as np

from maxmargin.report.charts import Axis, Chart, HeatMap, Section, Series, Table, line, mark
from maxmargin.report.curves import Curve, curve, histogram_edges, reliability, shares
from maxmargin.report.curves import confusion as count_confusion
from maxmargin.report.sections.words import first_of, number, share
from maxmargin.report.subject import Subject, label_text

MOST_CLASSES = 20  # in a confusion matrix that can be read
MOST_CURVES = 6
MOST_LISTED = 60
UNIT = (0.0, 1.0)


def summary(subject: Subject) -> Section | None:
    """The figures one looks for first."""
    if subject.task != "classification" or not subject.judged:
        return None
    labels, counts = _counts(subject)
    accuracy = np.trace(counts) / counts.sum()
    largest = counts.sum(axis=1).max() / counts.sum()
    text = (
        f"{share(accuracy)} of the rows are labelled correctly; always saying the most "
        f"frequent label would get {share(largest)}."
    )
    warnings = ["The model is no better than that."] if accuracy <= largest else []
    rows = []
    found_areas = areas(subject)
    for j, name in enumerate(map(label_text, labels.tolist())):
        right, predicted, true = counts[j, j], counts[:, j].sum(), counts[j].sum()
        ratios = [
            ratio(right, predicted),
            ratio(right, true),
            ratio(2 * right, predicted + true),
        ]
        rows.append([name, *ratios, found_areas.get(name, "-"), number(true)])
    columns = ["label", "precision", "recall", "F1", "ROC area", "rows"]
    listed = rows[:MOST_LISTED]
    title = first_of("By label", len(listed), len(rows), "first")
    return Section("Summary", [text], tables=[Table(title, columns, listed)], warnings=warnings)


def _counts(subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    assert subject.y is not None and subject.predicted is not None
    return count_confusion(subject.y, subject.predicted, subject.weight)


def areas(subject: Subject) -> dict[str, str]:
    """The ROC area of each class or label that has rows of both kinds."""
    found = {}
    for name, positive, score in subject.class_scores():
        drawn = curve(positive, score, subject.weight)
        if drawn is not None:
            found[name] = f"{drawn.roc_area:.4f}"
    if len(found) == 1 and len(subject.class_names) == 2:  # the same for both of two classes
        found = dict.fromkeys(subject.class_names, *found.values())
    return found


def ratio(part: float, whole: float) -> str:
    """A part of a whole, where there is a whole."""
    return f"{part / whole:.4f}" if whole > 0 else "-"


def confusion(subject: Subject) -> Section | None:
    """True labels beside predicted ones."""
    if subject.task != "classification" or not subject.judged:
        return None
    labels, counts = _counts(subject)
    text = ["Rows by true label (down) and predicted label (across)."]
    if len(labels) > MOST_CLASSES:
        return Section("Confusion", text, tables=[_most_confused(labels, counts)])
    return Section("Confusion", text, [confusion_chart(labels, counts)])


def confusion_chart(labels: np.ndarray, counts: np.ndarray) -> HeatMap:
    """Shares of each true label by what was predicted."""
    names = [label_text(name) for name in labels.tolist()]
    total = counts.sum(axis=1, keepdims=True)
    values = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    texts = [[number(c) for c in row] for row in counts]
    right = np.trace(counts) / counts.sum()
    return HeatMap(
        "Confusion matrix",
        f"{share(right)} of the rows lie on the diagonal, where the predicted label is the "
        "true one.",
        "predicted",
        "true",
        names,
        names,
        values,
        texts,
        table=Table(
            "True label down, predicted across",
            ["", *names],
            [[n, *t] for n, t in zip(names, texts)],
        ),
    )


def _most_confused(labels: np.ndarray, counts: np.ndarray) -> Table:
    wrong = counts * (1 - np.eye(len(labels)))
    order = np.argsort(-wrong, axis=None)[:25]
    rows = []
    for place in order:
        true, predicted = np.unravel_index(int(place), wrong.shape)
        if wrong[true, predicted] > 0:
            rows.append(
                [
                    label_text(labels[true]),
                    label_text(labels[predicted]),
                    number(wrong[true, predicted]),
                ]
            )
    return Table("Most frequent confusions", ["true", "predicted", "rows"], rows)


def operating_curves(subject: Subject) -> Section | None:
    """ROC and precision over recall, with the point at which the model decides."""
    found = [
        (name, drawn)
        for name, positive, score in subject.class_scores()
        if (drawn := curve(positive, score, subject.weight)) is not None
    ]
    if not found or subject.task not in ("classification", "labels"):
        return None
    shown = sorted(found, key=lambda item: item[1].roc_area)[:MOST_CURVES]
    if subject.task == "labels":
        text = [
            "Each label by itself. A point of a curve is a threshold on the score of that label; "
            "the one that the model uses is marked."
        ]
    elif len(found) == 1:
        text = [
            "Every threshold on the score is a point of these curves; the operating point is the "
            "threshold that the model uses."
        ]
    else:
        text = [
            "Each label against all others. A point of a curve is a threshold on the score of "
            "that label."
        ]
    if len(shown) < len(found):
        text.append(f"Drawn are the {len(shown)} labels with the least ROC area of {len(found)}.")
    decides = subject.task == "labels" or len(found) == 1
    charts = [roc_chart(shown, decides), precision_chart(shown, decides)]
    return Section("ROC and precision-recall", text, charts)


def roc_chart(curves: list[tuple[str, Curve]], decides: bool = True) -> Chart:
    """True positives over false positives; `decides` if the model cuts each score at 0."""
    series = [Series("line", np.array(UNIT), np.array(UNIT), "chance", 5, True)]
    for k, (name, c) in enumerate(curves):
        series.append(
            line(c.false_positive_rate, c.recall, f"{name}: area {c.roc_area:.4f}", 1 + k)
        )
    if decides:
        series += operating_points([(c, c.false_positive_rate, c.recall) for _, c in curves])
    worst = min(c.roc_area for _, c in curves)
    return Chart(
        "ROC curve",
        f"True positive rate over false positive rate; the area is {worst:.4f}"
        + (" or more." if len(curves) > 1 else "."),
        Axis("false positive rate", limits=UNIT),
        Axis("true positive rate", limits=UNIT),
        series,
        _threshold_table(curves[0]),
    )


def operating_points(drawn: list[tuple[Curve, np.ndarray, np.ndarray]]) -> list[Series]:
    """Where curves (with what is drawn across and upwards) are cut at 0; one alone is named."""
    if len(drawn) == 1:
        c, x, y = drawn[0]
        return [mark(x[c.at(0.0)], y[c.at(0.0)], "operating point", 0)]
    return [mark(x[c.at(0.0)], y[c.at(0.0)], "", 1 + k) for k, (c, x, y) in enumerate(drawn)]


def precision_chart(curves: list[tuple[str, Curve]], decides: bool = True) -> Chart:
    """Precision over recall; `decides` if the model cuts each score at 0."""
    series = [
        line(c.recall, c.precision, f"{name}: average {c.average_precision:.4f}", 1 + k)
        for k, (name, c) in enumerate(curves)
    ]
    if decides:
        series += operating_points([(c, c.recall, c.precision) for _, c in curves])
    worst = min(c.average_precision for _, c in curves)
    return Chart(
        "Precision and recall",
        f"Precision over recall; the average precision is {worst:.4f}"
        + (" or more." if len(curves) > 1 else "."),
        Axis("recall", limits=UNIT),
        Axis("precision", limits=UNIT),
        series,
        _threshold_table(curves[0]),
    )


def _threshold_table(named: tuple[str, Curve]) -> Table:
    """The rates at a few recalls, and where the model decides."""
    name, c = named
    places = [int(np.searchsorted(c.recall, r)) for r in np.linspace(0.1, 1.0, 10)]
    at = c.at(0.0)
    rows = []
    for place in sorted({min(p, c.recall.size - 1) for p in places} | {at}):
        threshold = "above all" if place == 0 else f"{c.threshold[place]:.4g}"
        rates = [c.recall[place], c.precision[place], c.false_positive_rate[place]]
        rows.append(
            [
                threshold + (" (operating point)" if place == at else ""),
                *(f"{r:.4f}" for r in rates),
            ]
        )
    return Table(
        f"Thresholds on the score of {name}",
        ["threshold", "recall", "precision", "false positive rate"],
        rows,
    )


def score_spread(subject: Subject) -> Section | None:
    """Histograms of scores by label, and what share of rows is positive at each score."""
    found = subject.class_scores()
    if len(found) != 1:
        return None
    name, positive, score = found[0]
    probability, weight = subject.probability, subject.weight
    text = [f"Rows with a score above 0 are labelled {name}, the others are not."]
    charts = [histogram_chart(name, positive, score, weight)]
    which = f"labelled {name}"
    if probability is not None:
        text.append(
            "A model is calibrated if, of the rows with a predicted probability near 0.3, say, "
            f"three tenths are {which}."
        )
        charts.append(calibration_chart(which, positive, probability, weight, True))
    else:
        text.append("A score is no probability: the second picture shows what it was worth here.")
        charts.append(calibration_chart(which, positive, score, weight, False))
    return Section("Scores and calibration", text, charts)


def histogram_chart(
    name: str, positive: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None
) -> Chart:
    """Scores of rows with and without a label."""
    edges = histogram_edges(score)
    middle = (edges[1:] + edges[:-1]) / 2
    series, columns = [], []
    for colour, chosen, what in ((1, ~positive, f"not {name}"), (0, positive, name)):
        part = shares(score[chosen], edges, None if weight is None else weight[chosen])
        series.append(Series("bars", middle, part, what, colour))
        columns.append(part)
    rows = [[f"{m:.3g}", share(a), share(b)] for m, a, b in zip(middle, *columns)]
    return Chart(
        "Scores by label",
        f"Histogram of scores: rows labelled {name} have a median of "
        f"{_median(score[positive])}, the others {_median(score[~positive])}.",
        Axis("score"),
        Axis("share of the rows with the label"),
        series,
        Table("Share of rows by score", ["score", f"not {name}", name], rows),
    )


def _median(values: np.ndarray) -> str:
    return f"{np.median(values):.3g}" if values.size else "-"


def calibration_chart(
    which: str,
    positive: np.ndarray,
    score: np.ndarray,
    weight: np.ndarray | None,
    probability: bool,
) -> Chart:
    """The share of positive rows among those with a similar score or probability.

    `which` rows are positive, in words: "labelled spam".
    """
    means, share_of, weights = reliability(positive, score, weight)
    what = "predicted probability" if probability else "score"
    series = [line(means, share_of, "observed", 1), Series("points", means, share_of, "", 1)]
    if probability:
        series.insert(
            0, Series("line", np.array(UNIT), np.array(UNIT), "perfectly calibrated", 5, True)
        )
    rows = [[f"{m:.4g}", share(s), number(w)] for m, s, w in zip(means, share_of, weights)]
    return Chart(
        "Calibration" if probability else "Share of positives by score",
        f"The share of rows {which} goes from {share(share_of[0])} at the lowest "
        f"{what} to {share(share_of[-1])} at the highest.",
        Axis(f"mean {what} of a tenth of the rows", limits=UNIT if probability else None),
        Axis(f"share of rows {which}", limits=UNIT),
        series,
        Table(f"Tenths of the rows by {what}", [f"mean {what}", f"share {which}", "rows"], rows),
    )
