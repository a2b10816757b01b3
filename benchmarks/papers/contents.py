"""Everything the papers hold by number, and where it is here: none may be missing from this list.

An entry is made again by an item, is in the code or on a page, or comes with the reason why not.
"""

from __future__ import annotations

from dataclasses import dataclass

BOUNDS = "docs/concepts/iteration-bounds.md"
BUNDLE = "src/maxmargin/solvers/linear/bundle.py"
PURSUIT = "src/maxmargin/solvers/subspace/subspace_pursuit.py"
LOOPS = "src/maxmargin/solvers/streaming/cached_loops.py"
STEPS = "src/maxmargin/solvers/kernel/two_variable.py"
STARTS = "src/maxmargin/solvers/kernel/starts.py"
GAINS = "core/kernel/step.hpp"


@dataclass(frozen=True)
class Entry:
    """`item` names what makes it again, `place` where it is in the project."""

    label: str
    what: str
    item: str | None = None
    place: str | None = None
    why: str = ""


def several(labels: str, numbers: str, what: str, item: str) -> tuple[Entry, ...]:
    return tuple(Entry(f"{labels} {number}", what, item) for number in numbers.split())


OCAS = (
    Entry("Algorithm 1", "OCAS", place=BUNDLE),
    Entry("Theorem 1", "bound on iterations", "Theorem 1"),
    Entry("Table 1", "data sets", "Table 1"),
    Entry("Table 2", "time and objective at the best C", "Table 2"),
    Entry("Table 3", "time of a model selection, area under ROC", "Table 3"),
    Entry("Table 4", "subtasks against CPUs", "Table 4"),
    Entry("Table 5", "subdifferential of one kink", "Table 5 and Figure 4"),
    Entry("Figure 1", "fluctuation of CPA, descent of OCAS", "Figure 1"),
    Entry("Figure 2", "objective against time", "Figure 2"),
    Entry("Figure 3", "time against the number of examples", "Figure 3"),
    Entry("Figure 4", "a subdifferential as a step function", "Table 5 and Figure 4"),
    Entry("Section 3", "changes 2 and 3: line search and mu", "Changes 2 and 3"),
    Entry("Section A", "the line search of other losses", "Searches by evaluation"),
    Entry("Section 4.2", "15 million examples", "15 million rows, scaled"),
)

SVM_PERF = (
    Entry("Algorithm 1", "CPA for classification", place=BUNDLE),
    Entry("Algorithm 2", "the most violated pairs by sorting", place="core/losses/pair_sweep.hpp"),
    Entry("Theorem 1", "one slack is as good as n: classification", place=BOUNDS),
    Entry("Theorem 2", "the same for ordinal regression", place=BOUNDS),
    Entry("Theorem 3", "Algorithm 1 ends within epsilon", place=BOUNDS),
    Entry("Theorem 4", "O(s n) in all", "Figures 1 and 2"),
    Entry("Theorem 5", "Algorithm 2 ends within epsilon", place=BOUNDS),
    Entry("Theorem 6", "O(s n log n) in all", "Figures 1 and 2"),
    Entry("Lemma 1", "an iteration takes O(s n)", "Figures 1 and 2"),
    Entry("Lemma 2", "bound on iterations", "Lemma 2"),
    Entry("Lemma 3", "an iteration of Algorithm 2 takes O(s n + n log n + R n)", "Figures 1 and 2"),
    Entry("Table 1", "training time", "Table 1"),
    Entry("Figure 1", "time against n", "Figures 1 and 2"),
    Entry("Section 5.2, SVM-light", "its time against n", "Figure 1, decomposition"),
    Entry("Section 5.2, best C", "time against n", "Figure 1, best C for each size"),
    Entry("Section 5.1, Newton", "L2-SVM-MFN", "L2-SVM-MFN"),
    Entry("Section 5.1, others", "SVM-light on pairs, LSVM", "SVM-light and LSVM"),
    Entry("Figure 2", "iterations against n", "Figures 1 and 2"),
    Entry("Figure 3", "accuracy against C, beside SVM-light", "Figure 3"),
    Entry("Figure 4", "accuracy against epsilon", "Figures 4 to 7"),
    Entry("Figure 5", "iterations against epsilon", "Figures 4 to 7"),
    Entry("Figure 6", "time against epsilon", "Figures 4 to 7"),
    Entry("Figure 7", "objective against C and epsilon", "Figures 4 to 7"),
    Entry("Figure 8", "iterations against C", "Figures 8 and 9"),
    Entry("Figure 9", "time against C", "Figures 8 and 9"),
    Entry("Section 5.6, pairs", "iterations against C", "Figure 8, ordinal regression"),
)

CPSP = (
    Entry("Algorithm 1", "cutting planes for structural machines", place=BUNDLE),
    Entry("Algorithm 2", "the same with kernels, in the dual", place=PURSUIT),
    Entry("Algorithm 3", "CPSP", place=PURSUIT),
    Entry("Theorem 1", "bound on iterations", "Theorem 1"),
    Entry("Theorem 2", "distance from the exact machine", "Theorem 2"),
    Entry("Table 1", "accuracy with 1000 vectors", "Table 1"),
    Entry("Table 2", "smallest k, and time", "Table 2"),
    Entry("Figure 1", "accuracy against k", "Tuned for each method and size"),
    Entry("Section 6, MNIST", "the same with 50 000 rows of 784 pixels", "Figure 1 on MNIST"),
    Entry("Figure 2", "objective against k", "Figures 1 and 2"),
    Entry("Figure 3", "time against k and n", "Figure 3"),
    Entry("Section 4", "the box itself: CPA, newest plane, delta", "Algorithm 3 as printed"),
    Entry("Section 6", "rows of CVM, BVM and LASVM", "CVM, BVM and LASVM"),
)

APPENDIX = "Figures 5 to 12 of the appendix"
STREAMSVM = (
    Entry("Algorithm 1", "reader", place=LOOPS),
    Entry("Algorithm 2", "trainer", place=LOOPS),
    Entry("Fact 1", "rows at a bound may be left out", place="docs/concepts/cached-loops.md"),
    Entry("Lemma 1", "the dual is a Luo and Tseng problem", place=BOUNDS),
    Entry("Theorem 2", "linear convergence of almost cyclic descent", "Almost cyclic"),
    Entry("Table 1", "data sets", "Table 1"),
    Entry("Figure 1", "flow of data", place=LOOPS),
    Entry("Figure 2", "convergence for eight C on dna", "Figure 2"),
    Entry("Figure 3", "convergence on kddb, ocr and webspam; strings", "Figure 3"),
    Entry("Figure 4", "memory", "Figure 4"),
    *several("Appendix, figure", "1", "eight values of C on dna", "Figure 2"),
    *several("Appendix, figure", "2 3 4", "eight values of C", "Figures 2 to 4 of the appendix"),
    *several("Appendix, figure", "5 6 7 8", "gap against time", APPENDIX),
    *several("Appendix, figure", "9 10 11 12", "accuracy against time", APPENDIX),
    Entry("Section 3", "eviction and stopping rule", "Eviction and stopping"),
    Entry("Section 4.1", "weighted degree features", "Figure 3, weighted degree features"),
    Entry("Section 4, rivals", "the authors' program", "LIBLINEAR's cdblock"),
)

MAPS = "Figures 10, 13, 16, 19, 22, 25 and 29"
NEAR = "Figures 9, 12, 15, 18, 21 and 24"
SETS = "Figures 2 to 4, 8, 11 and 14"
NO_OFFSET = (
    Entry("Algorithm 1", "one variable a step", place=STEPS),
    Entry("Algorithm 2", "two variables a step", place=STEPS),
    Entry("Procedure 1", "the best direction", place="core/kernel/sweep.hpp"),
    Entry("Procedure 2", "gradient and S after a step", place="core/kernel/sweep.hpp"),
    *(
        Entry(f"Procedure {number}", f"start {code}", place=STARTS)
        for number, code in ((3, "I0, W0"), (4, "I1, W1"), (5, "W2"), (6, "W4"), (7, "W6"))
    ),
    Entry("Procedure 8", "starts W3 and W5", place=STARTS),
    Entry("Lemma 1", "gain of one variable", place=GAINS),
    Entry("Lemma 2", "gain of two variables", place=GAINS),
    Entry("Lemma 3", "a direction of enough gain", place=BOUNDS),
    Entry("Lemma 4", "gap and gain", place=BOUNDS),
    Entry("Proposition 5", "convergence of certifying algorithms", place=BOUNDS),
    Entry("Theorem 6", "bound on iterations", "Theorem 6"),
    Entry("Table 1", "test errors", "Table 1"),
    Entry("Section 5.1", "Table 1's covtype and ijcnn1", "Table 1, covtype and ijcnn1"),
    Entry("Section 5.1, families", "Table 1's a1a, a2a, w1a", "Table 1, a1a, a2a and w1a"),
    Entry("Section 5.1, others", "Table 1's splice and svmguide1", "Table 1, splice and svmguide1"),
    Entry("Section 5.1, larger", "Table 1's a3a to w3a", "Table 1, a3a to w3a"),
    Entry("Section 5", "the control grid of Table 1", "Table 1, fine grid"),
    Entry("Figure 1", "LIBSVM with and without shrinking", "Figure 1"),
    *several("Figure", "2 3 4 8 11 14", "working sets, whole grid", SETS),
    *several("Figure", "5 6 17", "LIBSVM, whole grid", "Figures 5, 6 and 17"),
    *several("Figure", "7 26 27", "starts", "Figures 7, 26 and 27"),
    *several("Figure", "9 12 15 18 21 24", "points with nearly the best errors", NEAR),
    *several("Figure", "10 13 16 19 22 25 29", "svmguide1, point by point", MAPS),
    Entry("Figure 20", "stopping rules, whole grid", "Figure 20"),
    Entry("Figure 23", "numbers of neighbours, whole grid", "Figure 23"),
    Entry("Figure 28", "warm starts of LIBSVM", "Figure 28"),
)

CONTENTS: dict[str, tuple[Entry, ...]] = {
    "ocas": OCAS,
    "svm-perf": SVM_PERF,
    "cpsp": CPSP,
    "streamsvm": STREAMSVM,
    "no-offset": NO_OFFSET,
}
