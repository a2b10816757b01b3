"""The algorithm boxes of the papers, line by line, and what does each line here."""

from __future__ import annotations

from dataclasses import dataclass

SOLVERS = "src/maxmargin/solvers"
BUNDLE = f"{SOLVERS}/linear/bundle.py"
PLANES = f"{SOLVERS}/linear/reduced_qp.py"
RUN = f"{SOLVERS}/common/run.py"
LOSS = "src/maxmargin/losses/pointwise.py"
PURSUIT = f"{SOLVERS}/subspace/subspace_pursuit.py"
KEPT = f"{SOLVERS}/subspace/planes_of_rows.py"
SPAN = f"{SOLVERS}/subspace/span.py"
BASIS = f"{SOLVERS}/subspace/basis_choice.py"
LOOPS = f"{SOLVERS}/streaming/cached_loops.py"
READER = f"{SOLVERS}/streaming/reader.py"
VISITS = "core/linear/cached_loops.cpp"
CACHE = "core/linear/row_cache.cpp"
PATH = f"{SOLVERS}/kernel/path.py"
STARTS = f"{SOLVERS}/kernel/starts.py"
STEPS = "core/kernel/two_variable.cpp"
SELECTION = "core/kernel/working_sets.cpp"
STEP = "core/kernel/step.hpp"
SWEEP = "core/kernel/sweep.cpp"


@dataclass(frozen=True)
class Line:
    """What a line of a box says, and the function (or method) here that does it."""

    says: str
    name: str
    place: str


@dataclass(frozen=True)
class Box:
    label: str
    lines: tuple[Line, ...]


def box(label: str, *lines: tuple[str, str, str]) -> Box:
    return Box(label, tuple(Line(*line) for line in lines))


OCAS = (
    box(
        "Algorithm 1",
        ("1: t = 0, no cutting plane", "empty_planes", BUNDLE),
        ("2, 6, 7: repeat, t := t + 1, until", "solve", BUNDLE),
        ("3: w_t from the reduced problem (3)", "Planes.minimise", PLANES),
        ("4: w_b, the best on the line (7)", "line_search", BUNDLE),
        ("4: the minimum on the line, Appendix A", "search_kinks", "core/losses/kinks.cpp"),
        ("5: where the plane touches, w_c of (8)", "next_touch", BUNDLE),
        ("5: a subgradient of the risk there", "Pointwise.evaluate", LOSS),
        ("5: the plane (4)", "Planes.add_subgradient", PLANES),
        ("7: the stopping condition (9)", "Run.record", RUN),
    ),
)

SVM_PERF = (
    box(
        "Algorithm 1",
        ("W is empty", "empty_planes", BUNDLE),
        ("repeat ... until", "solve", BUNDLE),
        ("(w, xi) = argmin over the constraints in W", "Planes.minimise", PLANES),
        ("c_i = 1 if y_i w x_i < 1, else 0", "Pointwise.evaluate", LOSS),
        ("W = W and c", "Planes.add_subgradient", PLANES),
        ("until c is violated by no more than xi + epsilon", "Run.record", RUN),
    ),
    box(
        "Algorithm 2",
        ("W, (w, xi), repeat and until: as in Algorithm 1", "solve", BUNDLE),
        ("sort by w x_i", "order_rows", "core/losses/order.cpp"),
        (
            "for every rank r count a and b: c_i^+ and c_j^-, all ranks in one sweep",
            "sweep_range",
            "core/losses/pair_sweep.cpp",
        ),
        (
            "the constraint: sum of (c_i^+ - c_i^-) x_i, and of (c_i^+ + c_i^-) / 2",
            "PairLoss::finish",
            "core/losses/pairs.cpp",
        ),
    ),
)

CPSP = (
    box(
        "Algorithm 1",
        ("2: no planes", "empty_planes", BUNDLE),
        ("3, 13: repeat, return", "solve", BUNDLE),
        ("4: (w, xi) from the planes", "Planes.minimise", PLANES),
        ("5-8: labels that violate most", "Pointwise.evaluate", LOSS),
        ("9: remove inactive planes", "Planes.drop_idle", PLANES),
        ("10-11: the new plane", "Planes.add_subgradient", PLANES),
        ("12: until it is violated by epsilon at most", "Run.record", RUN),
    ),
    box(
        "Algorithm 2",
        ("all of it: Algorithm 3 once the basis is complete", "Machine.close_gap", PURSUIT),
        ("4: H, products of planes", "ReducedQP::append", "core/linear/reduced_qp.cpp"),
        ("5-7: alpha, xi and w", "ReducedQP::solve", "core/linear/reduced_qp.cpp"),
    ),
    box(
        "Algorithm 3",
        ("2: no planes, no basis", "Machine.__init__", PURSUIT),
        ("3: repeat, a vector for a plane", "grow", PURSUIT),
        ("4-7: H, alpha, xi, w", "Planes.minimise", PLANES),
        ("8-10: labels that violate most", "Machine.step", PURSUIT),
        ("11: remove inactive planes", "Planes.drop_idle", PLANES),
        ("12-14: the new plane Psi_m, and Delta_m", "PlanesOfRows.add_subgradient", KEPT),
        ("15: extend_basis", "extend_basis", PURSUIT),
        ("15: the pre-image (10)", "FreeVectors.next", BASIS),
        ("15: CPSP(tr), vectors of the training set", "TrainingRows.next", BASIS),
        ("15: the new row and column of G, K and L_G", "Subspace.append", SPAN),
        ("16-18: project (9)", "PlanesOfRows.follow", KEPT),
        ("19: until", "Machine.close_gap", PURSUIT),
    ),
)

STREAMSVM = (
    box(
        "Algorithm 1",
        ("for k: again and again", "Reader._read", READER),
        ("for i: all rows", "Reader._one_pass", READER),
        ("if the cache is full, some row leaves it", "RowCache::pick_victim", CACHE),
        (
            "read y_i, x_i; Q_ii; store them",
            "Packing.pack",
            "src/maxmargin/training/stream_packing.py",
        ),
        ("A = A and i", "RowCache::insert", CACHE),
    ),
    box(
        "Algorithm 2",
        ("while the stopping criterion is not met", "solve", LOOPS),
        ("for t: the rows that arrive, and those in the cache", "Trainer.train", LOOPS),
        ("if A > 0.9 Omega: epsilon = beta epsilon", "CachedLoops::tightens", VISITS),
        ("randomly select i in A", "CachedLoops::next_round", "core/linear/cache_rounds.cpp"),
        ("gradient; alpha_i and w", "CachedLoops::visit", VISITS),
        ("at a bound and beyond epsilon: out of A", "informative", "core/linear/cached_loops.hpp"),
        ("epsilon_new = largest gradient; epsilon = epsilon_new", "CachedLoops::end_pass", VISITS),
        ("update the stopping criterion (ours)", "Trainer.check_gap", LOOPS),
        ("update the stopping criterion (M+ - M-)", "Trainer.look_at_spread", LOOPS),
    ),
)

NO_OFFSET = (
    box(
        "Algorithm 1",
        ("initialise", "RegularisationPath.start", PATH),
        ("while S > epsilon / (2 lambda)", "TwoVariable::run", STEPS),
        ("i*: the best direction", "TwoVariable::select", SELECTION),
        ("delta, and its gain", "step_one", STEP),
        ("update: Procedure 2", "TwoVariable::move", STEPS),
    ),
    box(
        "Algorithm 2",
        ("initialise", "RegularisationPath.start", PATH),
        ("while S > epsilon / (2 lambda)", "TwoVariable::run", STEPS),
        ("i* and j*: section 3.2", "TwoVariable::select", SELECTION),
        ("the best step in both, section 3.1", "step_two", STEP),
        ("update alpha, T and E", "TwoVariable::move", STEPS),
        ("update the gradient", "sweep", SWEEP),
    ),
    box("Procedure 1", ("the best of all directions, within Procedure 2's loop", "sweep", SWEEP)),
    box(
        "Procedure 2",
        ("T", "TwoVariable::move", STEPS),
        ("gradient and E, for all j", "sweep", SWEEP),
    ),
    box("Procedure 3", ("I0, W0", "start_zero", STARTS)),
    box("Procedure 4", ("I1, W1", "start_kernel_rule", STARTS)),
    box("Procedure 5", ("W2", "start_keep", STARTS)),
    box(
        "Procedure 6",
        ("W4", "start_expand", STARTS),
        ("its gradient", "start_expand", "core/kernel/starts.cpp"),
    ),
    box(
        "Procedure 7",
        ("W6", "start_cut", STARTS),
        ("its gradient", "start_cut", "core/kernel/starts.cpp"),
    ),
    box("Procedure 8", ("W3, W5", "start_scale", STARTS)),
)

BOXES: dict[str, tuple[Box, ...]] = {
    "ocas": OCAS,
    "svm-perf": SVM_PERF,
    "cpsp": CPSP,
    "streamsvm": STREAMSVM,
    "no-offset": NO_OFFSET,
}
