"""How good predictions are: rankings query by query, labels, and measures known by name."""

from maxmargin.metrics.ranking import (
    mean_average_precision,
    ndcg,
    pairwise_accuracy,
    precision_at,
    recall_at,
)

__all__ = ["mean_average_precision", "ndcg", "pairwise_accuracy", "precision_at", "recall_at"]
