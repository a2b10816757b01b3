"""The five papers, their items in order, and what their letters are called here."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.papers import (  # noqa: F401  they list items
    cpsp,
    cpsp_more,
    no_offset,
    no_offset_more,
    ocas,
    ocas_more,
    streamsvm,
    streamsvm_more,
    svm_perf,
)


@dataclass(frozen=True)
class Paper:
    title: str
    box: str  # where its algorithm is
    symbols: tuple[tuple[str, str, str], ...]  # theirs, ours, what


PAPERS = {
    "ocas": Paper(
        "Franc, Sonnenburg 2008: Optimized cutting plane algorithm for support vector machines",
        "src/maxmargin/solvers/linear/bundle.py",
        (
            ("C", "n C", "their loss is a mean, ours a sum"),
            ("m", "n", "rows"),
            ("F(w)", "P", "the objective"),
            ("F_t(w_t)", "D_t", "the reduced problem's value, a lower bound"),
            ("w_b, w_c, mu", "w_b, w_c, MU", "best point, where the plane touches, 0.1"),
        ),
    ),
    "svm-perf": Paper(
        "Joachims 2006: Training linear SVMs in linear time",
        "src/maxmargin/solvers/linear/bundle.py",
        (
            ("C", "n C", "their slack is a mean, ours a sum"),
            ("epsilon", "(P - D) / (n C)", "precision in mean slack"),
            ("c_i", "1 where the subgradient is not 0", "a constraint's rows"),
            ("W", "planes", "the working set"),
        ),
    ),
    "cpsp": Paper(
        "Joachims, Yu 2009: Sparse kernel SVMs via cutting-plane training",
        "src/maxmargin/solvers/subspace/subspace_pursuit.py",
        (
            ("C", "n C", "their slack is a mean"),
            ("k_max", "n_basis", "basis vectors"),
            ("b_j", "vectors", "basis vectors, free or training rows"),
            ("delta", "delta_", "length of the residual of a plane outside the span"),
        ),
    ),
    "streamsvm": Paper(
        "Matsushima, Vishwanathan, Smola 2012: Linear support vector machines via dual cached loops",
        "src/maxmargin/solvers/streaming/cached_loops.py",
        (
            ("alpha", "alpha", "dual variables"),
            ("Omega", "memory", "theirs counts rows, ours bytes"),
            ("A", "cache", "rows in memory"),
            ("M+ - M-", "relative gap", "their stopping rule, and ours"),
        ),
    ),
    "no-offset": Paper(
        "Steinwart, Hush, Scovel 2011: Training SVMs without offset",
        "src/maxmargin/solvers/kernel/two_variable.py",
        (
            ("lambda", "C = 1 / (2 lambda n)", "regulariser: lambda ||f||^2 + mean loss"),
            ("sigma", "gamma = sigma^2", "width of the Gaussian kernel"),
            ("alpha", "|beta|", "dual variables; beta carries the sign"),
            ("S(alpha)", "clipped gap", "rule (9); the plain gap is rule (7)"),
        ),
    ),
}
