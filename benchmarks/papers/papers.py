"""The five papers, their items in order, and what their letters are called here."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.papers import (  # noqa: F401  they list items
    cpsp,
    cpsp_more,
    no_offset,
    no_offset_errors,
    no_offset_more,
    ocas,
    ocas_more,
    streamsvm,
    streamsvm_more,
    svm_perf,
    svm_perf_more,
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
            ("R(w)", "R / (n C)", "the loss; ours has C in it"),
            ("F(w)", "P", "the objective"),
            ("F_t(w_t)", "D_t", "the reduced problem's value, a lower bound"),
            (
                "a_i, b_i",
                "a_i / (n C), b_i / (n C)",
                "a plane; ours are planes of C times the loss",
            ),
            (
                "A_0, B_0, B_i, C_i",
                "A0, B0, -q_i dp_i, |q_i| - q_i p_i",
                "of the line search; q_i = y_i C_i",
            ),
            ("w_b, w_c, mu", "w_b, w_c, MU", "best point, where the plane touches, 0.1"),
        ),
    ),
    "svm-perf": Paper(
        "Joachims 2006: Training linear SVMs in linear time",
        "src/maxmargin/solvers/linear/bundle.py",
        (
            ("C", "n C", "their slack is a mean, ours a sum"),
            ("epsilon", "(P - D) / (n C)", "precision in mean slack"),
            ("xi", "R / (n C)", "the one slack"),
            ("c_i", "1 where the subgradient is not 0", "a constraint's rows"),
            ("c_i^+, c_i^-", "plus, minus", "pairs that row i has on either side of a constraint"),
            ("W", "planes", "the working set"),
            ("R, m", "ranks, pairs", "how many ranks and pairs"),
        ),
    ),
    "cpsp": Paper(
        "Joachims, Yu 2009: Sparse kernel SVMs via cutting-plane training",
        "src/maxmargin/solvers/subspace/subspace_pursuit.py",
        (
            ("C", "n C", "their slack is a mean"),
            ("k_max", "n_basis", "basis vectors"),
            ("b_j, B", "b_1 .. b_k, B", "basis vectors, free or training rows"),
            ("Psi_j", "Psi / (n C)", "a plane in feature space; ours has C in it"),
            ("Psi^_j, beta", "P_B Psi, a = Z^T subgrad", "its projection, and its coordinates"),
            ("y_i - y^_i", "subgrad", "what row i has in a plane, up to a factor"),
            (
                "G, K",
                "Gram matrix of B, Z",
                "ours are coordinates in an orthonormal basis of the span",
            ),
            ("alpha", "weights of the planes", "of the reduced problem"),
            ("m", "number of planes", ""),
            ("xi, epsilon", "R / (n C), (P - D) / (n C)", "slack and precision"),
            (
                "delta",
                "delta_",
                "length of the residual of a plane outside the span; ours of a sum",
            ),
            ("o, o*", "P, P*", "objectives of the machine and of the exact one"),
        ),
    ),
    "streamsvm": Paper(
        "Matsushima, Vishwanathan, Smola 2012: Linear support vector machines via dual cached loops",
        "src/maxmargin/solvers/streaming/cached_loops.py",
        (
            ("alpha_i", "C_i u_i", "dual variables; ours are shares of C_i"),
            ("D(alpha)", "-D", "they minimise the dual, we maximise it"),
            ("nabla_i D", "G", "gradient of one variable"),
            ("Omega", "memory", "theirs counts rows, ours bytes"),
            ("A", "cache", "rows in memory"),
            ("epsilon, beta", "upper and lower, tightened in end_pass", "thresholds of eviction"),
            ("kappa", "at most 6 visits for a row that arrives", "speed of trainer over reader"),
            ("M+ - M-", "relative gap", "their stopping rule, and ours"),
        ),
    ),
    "no-offset": Paper(
        "Steinwart, Hush, Scovel 2011: Training SVMs without offset",
        "src/maxmargin/solvers/kernel/two_variable.py",
        (
            ("lambda", "C = 1 / (2 lambda n)", "regulariser: lambda ||f||^2 + mean loss"),
            ("sigma", "gamma = sigma^2", "width of the Gaussian kernel"),
            ("w_pos, w_neg, C_i", "class_weight, C s_i", "weights and boxes"),
            ("alpha_i", "y_i beta_i", "dual variables; beta carries the sign"),
            ("W(alpha)", "W, D", "the dual objective"),
            ("nabla W_i", "y_i r_i", "gradient; r_i = y_i - f(x_i) is the residual"),
            ("T, E, S(alpha)", "T, E, S", "the clipped gap, rule (9); the plain gap is rule (7)"),
            ("epsilon / (2 lambda)", "tol sum_i C_i", "what S may be in the end"),
            (
                "WSS k",
                "working_set=k",
                "1 = with the row of the last step, 2 = best of each half, 4 = neighbours, and sums of them",
            ),
        ),
    ),
}
