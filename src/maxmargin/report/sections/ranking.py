"""How well rows are ordered: NDCG query by query."""

from __future__ import annotations

import numpy as np

from maxmargin.losses.ranks import share_in_order
from maxmargin.report.charts import Axis, Chart, Section, Series, Table
from maxmargin.report.curves import ndcg_of_queries
from maxmargin.report.sections.words import counted, share
from maxmargin.report.subject import Subject

PLACES = 10
HIGHEST_GRADE = 31  # beyond, gains of 2^grade - 1 make no sense: the target is no grade
MOST_QUERIES = 15


def ranking(subject: Subject) -> Section | None:
    """Pairs in order over all queries, and the NDCG of each."""
    if subject.task != "ranking" or not subject.judged:
        return None
    assert subject.y is not None and subject.predicted is not None
    y, score = subject.y.astype(np.float64), subject.predicted
    pairs = share_in_order(y, score, subject.qid, subject.weight)
    text = [
        f"{share(pairs)} of the pairs of rows with different targets are in the right order, "
        "averaged over queries."
    ]
    if not _are_grades(y):
        return Section("Ranking", [*text, "NDCG needs grades 0, 1, 2, ... as targets."])
    queries, values = ndcg_of_queries(y, score, subject.qid, PLACES)
    if values.size == 0:
        return Section(
            "Ranking", [*text, "No query has a relevant row, so that NDCG is not defined."]
        )
    text.append(
        f"NDCG@{PLACES} is {values.mean():.4f} over "
        f"{counted(values.size, 'query', 'queries')} with a relevant row."
    )
    return Section("Ranking", text, [ndcg_chart(values)], [_worst(queries, values)])


def _are_grades(y: np.ndarray) -> bool:
    return bool(((y >= 0) & (y <= HIGHEST_GRADE) & (y == np.rint(y))).all())


def ndcg_chart(values: np.ndarray) -> Chart:
    """How many queries have which NDCG."""
    edges = np.linspace(0.0, 1.0, 21)
    counts = np.histogram(values, edges)[0]
    middle = (edges[1:] + edges[:-1]) / 2
    rows = [[f"{low:.2f} to {high:.2f}", f"{c}"] for low, high, c in zip(edges, edges[1:], counts)]
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return Chart(
        f"NDCG@{PLACES} of the queries",
        f"Half of the queries have an NDCG between {low:.3f} and {high:.3f}; the median is "
        f"{median:.3f}.",
        Axis(f"NDCG@{PLACES}", limits=(0.0, 1.0)),
        Axis("queries"),
        [Series("bars", middle, counts.astype(np.float64), "queries", 1)],
        Table("Queries by NDCG", ["NDCG", "queries"], rows),
    )


def _worst(queries: np.ndarray, values: np.ndarray) -> Table:
    order = np.argsort(values, kind="stable")[:MOST_QUERIES]
    rows = [[str(queries[j]), f"{values[j]:.4f}"] for j in order]
    return Table("Queries that are ordered worst", ["query", f"NDCG@{PLACES}"], rows)
