"""What the papers find, a sentence each, judged by the numbers that are kept.

Where no judge is named the sentence is that of the item, with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.papers.contents import APPENDIX, MAPS, NEAR, SETS
from benchmarks.papers.items import UNDECIDED, Found, Item
from benchmarks.papers.judges import (
    Judged,
    all_pairs_beat_one,
    beats_block_minimisation,
    beats_linear,
    best_from_the_beginning,
    chance_is_no_better,
    dominates,
    fails_for_large_C,
    hardly_more_than_32,
    iterations_stay,
    libsvm_is_like_1,
    libsvm_two_to_four,
    more_near_the_best,
    most_at_small_sizes,
    not_with_512,
    ordinal_is_steeper,
    pairs_of_violations,
    rivals_are_behind,
    rivals_need_more,
    rough_objective,
    same_for_pairs,
    scaling_beats_recycling,
    sgd_before_cpa,
    sgd_is_fastest,
    sgd_is_off,
    sgd_wants_smaller_C,
    three_beats_its_parts,
    time_with_C,
    time_with_epsilon,
    trains_faster,
    zeros_need_fewer,
)


@dataclass(frozen=True)
class Finding:
    paper: str
    says: str
    item: str
    judge: Callable[[Found], Judged] | None = None


def judged(finding: Finding, item: Item, found: Found | None) -> Judged:
    if found is None:
        return "not run", ""
    verdict, numbers = (
        (found.verdict, found.sentence) if finding.judge is None else finding.judge(found)
    )
    return (UNDECIDED if item.undecided(found) else verdict), numbers


FINDINGS = (
    Finding("ocas", "CPA's objective fluctuates, OCAS's never rises.", "Figure 1"),
    Finding("ocas", "OCAS is the fastest accurate solver.", "Table 2"),
    Finding("ocas", "SGD's objective can be far off.", "Table 2", sgd_is_off),
    Finding("ocas", "OCAS reaches the lowest objective of all.", "Figure 2"),
    Finding(
        "ocas",
        "On half of the sets it does so from the very beginning.",
        "Figure 2",
        best_from_the_beginning,
    ),
    Finding("ocas", "Plain SGD outcompetes even CPA.", "Figure 2", sgd_before_cpa),
    Finding("ocas", "Tuning C takes OCAS a fraction of the others' time.", "Table 3"),
    Finding("ocas", "SGD tunes fastest, at a similar area.", "Table 3", sgd_is_fastest),
    Finding("ocas", "SGD is best with a smaller C.", "Table 3", sgd_wants_smaller_C),
    Finding("ocas", "Time is linear in n, iterations do not grow.", "Figure 3"),
    Finding("ocas", "Products and planes share out well over CPUs.", "Table 4"),
    Finding("ocas", "mu = 0.1 works consistently well.", "Changes 2 and 3"),
    Finding("ocas", "The iterations are bounded, whatever n is.", "Theorem 1"),
    Finding("ocas", "15 million rows are trained on in minutes.", "15 million rows, scaled"),
    Finding("svm-perf", "Ordinal regression is somewhat slower, and tractable.", "Table 1"),
    Finding("svm-perf", "Time grows less than linearly with n.", "Figures 1 and 2"),
    Finding("svm-perf", "Iterations do not grow with n.", "Figures 1 and 2", iterations_stay),
    Finding(
        "svm-perf",
        "The time of ordinal regression grows a little faster.",
        "Figures 1 and 2",
        ordinal_is_steeper,
    ),
    Finding(
        "svm-perf",
        "It takes as many iterations as classification.",
        "Figures 1 and 2",
        same_for_pairs,
    ),
    Finding("svm-perf", "Its rules are as accurate as those of other solvers.", "Figure 3"),
    Finding("svm-perf", "A smaller epsilon hardly changes the accuracy.", "Figures 4 to 7"),
    Finding(
        "svm-perf", "The objective is close to the optimum.", "Figures 4 to 7", rough_objective
    ),
    Finding("svm-perf", "Time grows less than 1 / epsilon.", "Figures 4 to 7", time_with_epsilon),
    Finding("svm-perf", "Iterations grow as the square root of C.", "Figures 8 and 9"),
    Finding("svm-perf", "Time grows less than linearly with C.", "Figures 8 and 9", time_with_C),
    Finding("svm-perf", "Lemma 2 bounds the constraints.", "Lemma 2"),
    Finding(
        "svm-perf", "SVM-light's time grows faster than linearly with n.", "SVM-light's scaling"
    ),
    Finding("cpsp", "1000 vectors match the exact machine to 0.1 points.", "Table 1"),
    Finding("cpsp", "Rivals with as many vectors are behind.", "Table 1", rivals_are_behind),
    Finding(
        "cpsp",
        "Tuned by validation, CPSP is best at every size.",
        "Tuned for each method and size",
        dominates,
    ),
    Finding(
        "cpsp",
        "Its lead is largest at small sizes.",
        "Tuned for each method and size",
        most_at_small_sizes,
    ),
    Finding(
        "cpsp",
        "With 50 vectors it is no worse than a linear machine.",
        "Tuned for each method and size",
        beats_linear,
    ),
    Finding(
        "cpsp",
        "On all 50 000 rows of MNIST it is best at every size too.",
        "Figure 1 on MNIST",
        dominates,
    ),
    Finding(
        "cpsp",
        "There, too, its lead is largest at small sizes.",
        "Figure 1 on MNIST",
        most_at_small_sizes,
    ),
    Finding("cpsp", "Its objective is the lowest at every size.", "Figures 1 and 2"),
    Finding("cpsp", "10 vectors are enough for ADULT.", "Table 2"),
    Finding("cpsp", "Others need 5 to 10 times the vectors.", "Table 2", rivals_need_more),
    Finding("cpsp", "It trains faster than the exact machine.", "Table 2", trains_faster),
    Finding("cpsp", "Time is about linear in n, a little more in k.", "Figure 3"),
    Finding("cpsp", "Iterations are bounded.", "Theorem 1"),
    Finding("cpsp", "The distance from the exact machine is bounded by delta.", "Theorem 2"),
    Finding("streamsvm", "It is faster than both rivals at every C.", "Figure 2"),
    Finding(
        "streamsvm",
        "Above all it is faster than block minimisation.",
        "Figure 2",
        beats_block_minimisation,
    ),
    Finding("streamsvm", "Block minimisation fails for large C.", "Figure 2", fails_for_large_C),
    Finding("streamsvm", "It wins on all kinds of data but kddb.", "Figure 3"),
    Finding("streamsvm", "Little memory is too little, much does not help.", "Figure 4"),
    Finding("streamsvm", "One or two passes predict nearly as well as all.", APPENDIX),
    Finding(
        "streamsvm",
        "Features made on the fly cost less than reading.",
        "Figure 3, weighted degree features",
    ),
    Finding(
        "streamsvm", "The spread of gradients is a strict rule to stop by.", "Eviction and stopping"
    ),
    Finding(
        "no-offset", "Errors with and without offset are equal, but for ionosphere.", "Table 1"
    ),
    Finding("no-offset", "A finer, larger grid is no better.", "Table 1, fine grid"),
    Finding("no-offset", "They are equal on larger sets too.", "Table 1, covtype and ijcnn1"),
    Finding(
        "no-offset", "They are equal on sets with many features too.", "Table 1, a1a, a2a and w1a"
    ),
    Finding(
        "no-offset", "They are equal on splice and svmguide1 too.", "Table 1, splice and svmguide1"
    ),
    Finding(
        "no-offset",
        "3 = 1 + 2 is better than 1 and 2, 5 = 1 + 4 than 1, yet not than 3.",
        SETS,
        three_beats_its_parts,
    ),
    Finding("no-offset", "7 needs 5 to 20 % more iterations than 32.", SETS, hardly_more_than_32),
    Finding(
        "no-offset",
        "Near the best errors that is over 20 % and up to 50.",
        NEAR,
        more_near_the_best,
    ),
    Finding("no-offset", "Random candidates (64) save nothing.", SETS, chance_is_no_better),
    Finding(
        "no-offset",
        "LIBSVM needs about the iterations of 1.",
        "Figures 5, 6 and 17",
        libsvm_is_like_1,
    ),
    Finding("no-offset", "7 is nearly as good as trying all partners.", SETS),
    Finding("no-offset", "Two variables always beat one.", SETS, all_pairs_beat_one),
    Finding("no-offset", "Adding 512 to 7 does not help.", SETS, not_with_512),
    Finding(
        "no-offset",
        "The two largest violations (16) are no alternative.",
        SETS,
        pairs_of_violations,
    ),
    Finding("no-offset", "LIBSVM needs more iterations than 3 and 7.", "Figures 5, 6 and 17"),
    Finding(
        "no-offset",
        "7 is two to four times faster than LIBSVM.",
        "Figures 5, 6 and 17",
        libsvm_two_to_four,
    ),
    Finding("no-offset", "Shrinking is no advantage on this grid.", "Figure 1"),
    Finding("no-offset", "The clipped rule never takes more iterations.", "Figure 20"),
    Finding("no-offset", "Ten neighbours are as good as twenty.", "Figure 23"),
    Finding("no-offset", "Warm starts save much.", "Figures 7, 26 and 27"),
    Finding(
        "no-offset",
        "Scaling (W3, W5) saves more than keeping the solution (W2).",
        "Figures 7, 26 and 27",
        scaling_beats_recycling,
    ),
    Finding(
        "no-offset",
        "Cold, zeros need fewer iterations than the kernel rule.",
        "Figures 7, 26 and 27",
        zeros_need_fewer,
    ),
    Finding("no-offset", "Near the best errors the lead over LIBSVM is larger.", NEAR),
    Finding("no-offset", "Savings are largest at small lambda.", MAPS),
    Finding("no-offset", "Machines with offset gain less from warm starts.", "Figure 28"),
    Finding("no-offset", "Theorem 6 bounds the iterations.", "Theorem 6"),
)
