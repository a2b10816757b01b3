"""Rules of the paper that ours can be compared with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """What the paper does otherwise. No estimator has it: it is for comparisons with it.

    `paper_eviction`: one threshold for both sides (core/linear/cached_loops.hpp). `spread`: a run
    also ends, as `rule_met`, after a pass whose projected gradients are within so much of each
    other: ``M+ - M-`` of (10).
    """

    paper_eviction: bool = False
    spread: float | None = None
