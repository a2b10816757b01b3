"""What the papers find, a sentence each, judged by the numbers that are kept.

Where no judge is named the sentence is that of the item, with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.papers import judges as by
from benchmarks.papers import judges_no_offset as kernels
from benchmarks.papers.contents import APPENDIX, MAPS, NEAR, SETS
from benchmarks.papers.items import UNDECIDED, Found, Item
from benchmarks.papers.judges import Judged


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
    Finding(
        "ocas", "It is orders of magnitude faster than CPA.", "Table 2", by.orders_of_magnitude
    ),
    Finding("ocas", "SGD takes the least time by far.", "Table 2", by.sgd_takes_least),
    Finding("ocas", "SGD's objective can be far off.", "Table 2", by.sgd_is_off),
    Finding("ocas", "OCAS reaches the lowest objective of all.", "Figure 2"),
    Finding(
        "ocas",
        "On half of the sets it does so from the very beginning.",
        "Figure 2",
        by.best_from_the_beginning,
    ),
    Finding("ocas", "Plain SGD outcompetes even CPA.", "Figure 2", by.sgd_before_cpa),
    Finding("ocas", "OCAS beats SGD where C is large.", "Figure 2", by.large_C_is_ours),
    Finding("ocas", "Tuning C takes OCAS a fraction of the others' time.", "Table 3"),
    Finding("ocas", "All accurate solvers predict equally well.", "Table 3", by.same_area),
    Finding("ocas", "SGD tunes fastest, at a similar area.", "Table 3", by.sgd_is_fastest),
    Finding("ocas", "SGD is best with a smaller C.", "Table 3", by.sgd_wants_smaller_C),
    Finding("ocas", "Time is linear in n, iterations do not grow.", "Figure 3"),
    Finding(
        "ocas", "Products and planes share out well over CPUs.", "Table 4", by.products_share_out
    ),
    Finding("ocas", "The line search does not.", "Table 4", by.search_does_not),
    Finding(
        "ocas", "The reduced problem is no bottleneck.", "Table 4", by.reduced_problem_is_cheap
    ),
    Finding("ocas", "mu = 0.1 works consistently well.", "Changes 2 and 3"),
    Finding("ocas", "The iterations are bounded, whatever n is.", "Theorem 1"),
    Finding("ocas", "15 million rows are trained on in minutes.", "15 million rows, scaled"),
    Finding("svm-perf", "Ordinal regression is somewhat slower, and tractable.", "Table 1"),
    Finding("svm-perf", "Time grows less than linearly with n.", "Figures 1 and 2"),
    Finding("svm-perf", "Iterations do not grow with n.", "Figures 1 and 2", by.iterations_stay),
    Finding(
        "svm-perf",
        "The time of ordinal regression grows a little faster.",
        "Figures 1 and 2",
        by.ordinal_is_steeper,
    ),
    Finding(
        "svm-perf",
        "It takes as many iterations as classification.",
        "Figures 1 and 2",
        by.same_for_pairs,
    ),
    Finding("svm-perf", "Its rules are as accurate as those of other solvers.", "Figure 3"),
    Finding("svm-perf", "A smaller epsilon hardly changes the accuracy.", "Figures 4 to 7"),
    Finding(
        "svm-perf", "The objective is close to the optimum.", "Figures 4 to 7", by.rough_objective
    ),
    Finding(
        "svm-perf", "Time grows less than 1 / epsilon.", "Figures 4 to 7", by.time_with_epsilon
    ),
    Finding("svm-perf", "Iterations grow as the square root of C.", "Figures 8 and 9"),
    Finding("svm-perf", "Time grows less than linearly with C.", "Figures 8 and 9", by.time_with_C),
    Finding("svm-perf", "Lemma 2 bounds the constraints.", "Lemma 2"),
    Finding(
        "svm-perf",
        "SVM-light's time grows faster than linearly with n.",
        "Figure 1, decomposition",
    ),
    Finding(
        "svm-perf",
        "SVM-perf is orders of magnitude faster than SVM-light.",
        "Figure 1, decomposition",
        by.faster_than_decomposition,
    ),
    Finding(
        "svm-perf",
        "With the best C for every n time still grows about linearly.",
        "Figure 1, best C for each size",
    ),
    Finding(
        "svm-perf",
        "The objective is close to the optimum for every C.",
        "Figures 4 to 7",
        by.rough_objective_for_every_C,
    ),
    Finding(
        "svm-perf",
        "Iterations of ordinal regression grow as the square root of C, too.",
        "Figure 8, ordinal regression",
    ),
    Finding("svm-perf", "On small sets L2-SVM-MFN takes about as long.", "L2-SVM-MFN"),
    Finding(
        "svm-perf",
        "SVM-light cannot train on the pairs of more than some thousand rows, and gains less than a factor of two from a larger epsilon; LSVM cannot have thousands of features.",
        "SVM-light and LSVM",
    ),
    Finding("cpsp", "1000 vectors match the exact machine to 0.1 points.", "Table 1"),
    Finding("cpsp", "Rivals with as many vectors are behind.", "Table 1", by.rivals_are_behind),
    Finding(
        "cpsp",
        "Tuned by validation, CPSP is best at every size.",
        "Tuned for each method and size",
        by.dominates,
    ),
    Finding(
        "cpsp",
        "Its lead is largest at small sizes.",
        "Tuned for each method and size",
        by.most_at_small_sizes,
    ),
    Finding(
        "cpsp",
        "With 50 vectors it is no worse than a linear machine.",
        "Tuned for each method and size",
        by.beats_linear,
    ),
    Finding(
        "cpsp",
        "With 50 vectors it is within a point of the exact machine on most sets.",
        "Tuned for each method and size",
        by.fifty_are_nearly_exact,
    ),
    Finding(
        "cpsp",
        "Free vectors are better than those of the training set, above all where there are few.",
        "Tuned for each method and size",
        by.free_beats_training,
    ),
    Finding(
        "cpsp",
        "On all 50 000 rows of MNIST it is best at every size too.",
        "Figure 1 on MNIST",
        by.dominates,
    ),
    Finding(
        "cpsp",
        "There, too, its lead is largest at small sizes.",
        "Figure 1 on MNIST",
        by.most_at_small_sizes,
    ),
    Finding("cpsp", "Its objective is the lowest at every size.", "Figures 1 and 2"),
    Finding("cpsp", "10 vectors are enough for ADULT.", "Table 2"),
    Finding("cpsp", "Others need 5 to 10 times the vectors.", "Table 2", by.rivals_need_more),
    Finding("cpsp", "It trains faster than the exact machine.", "Table 2", by.trains_faster),
    Finding("cpsp", "It is among the fastest sparse machines.", "Table 2", by.among_the_fastest),
    Finding("cpsp", "It predicts 18 to 712 times as fast.", "Table 2", by.predicts_faster),
    Finding("cpsp", "CVM, BVM and LASVM need many times the vectors.", "CVM, BVM and LASVM"),
    Finding("cpsp", "Time is about linear in n, a little more in k.", "Figure 3"),
    Finding("cpsp", "Iterations are bounded.", "Theorem 1"),
    Finding("cpsp", "The distance from the exact machine is bounded by delta.", "Theorem 2"),
    Finding("streamsvm", "It is faster than both rivals at every C.", "Figure 2"),
    Finding(
        "streamsvm",
        "Above all it is faster than block minimisation.",
        "Figure 2",
        by.beats_block_minimisation,
    ),
    Finding("streamsvm", "Block minimisation fails for large C.", "Figure 2", by.fails_for_large_C),
    Finding("streamsvm", "It wins on all kinds of data but kddb.", "Figure 3"),
    Finding(
        "streamsvm", "On kddb it is level with the selective kind.", "Figure 3", by.ties_on_kddb
    ),
    Finding(
        "streamsvm",
        "It has converged before the others have read the file once.",
        "Figure 3",
        by.done_before_a_pass,
    ),
    Finding("streamsvm", "Little memory is too little, much does not help.", "Figure 4"),
    Finding("streamsvm", "On kddb more memory harms.", "Figure 4", by.more_memory_harms),
    Finding("streamsvm", "Few rows are active at the solution.", "Figure 4", by.few_are_active),
    Finding(
        "streamsvm",
        "Rows that leave before their visit do not disturb convergence.",
        "Almost cyclic",
        by.eviction_before_a_visit,
    ),
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
        kernels.three_beats_its_parts,
    ),
    Finding(
        "no-offset", "7 needs 5 to 20 % more iterations than 32.", SETS, kernels.hardly_more_than_32
    ),
    Finding(
        "no-offset",
        "Near the best errors that is over 20 % and up to 50.",
        NEAR,
        kernels.more_near_the_best,
    ),
    Finding("no-offset", "Random candidates (64) save nothing.", SETS, kernels.chance_is_no_better),
    Finding(
        "no-offset",
        "LIBSVM needs about the iterations of 1.",
        "Figures 5, 6 and 17",
        kernels.libsvm_is_like_1,
    ),
    Finding("no-offset", "7 is nearly as good as trying all partners.", SETS),
    Finding(
        "no-offset",
        "All pairs (0) take the fewest iterations, 32 and 128 hardly more.",
        SETS,
        kernels.all_pairs_are_best,
    ),
    Finding(
        "no-offset",
        "The approximate gain (128) is as good as the exact one (32).",
        SETS,
        kernels.same_for_approximate_gain,
    ),
    Finding(
        "no-offset",
        "2 takes fewer iterations than one variable, and as much time.",
        SETS,
        kernels.two_saves_no_time,
    ),
    Finding(
        "no-offset",
        "8 takes fewer iterations than 1, and as much time.",
        SETS,
        kernels.ahead_saves_no_time,
    ),
    Finding("no-offset", "7 is the fastest on almost all sets.", SETS, kernels.seven_is_fastest),
    Finding("no-offset", "32 and 128 take longer than 7.", SETS, kernels.partners_cost_time),
    Finding(
        "no-offset", "128 and 64 are faster than 32.", SETS, kernels.approximations_are_cheaper
    ),
    Finding(
        "no-offset",
        "Random pairs (256) are worse than 64, and better than one variable.",
        SETS,
        kernels.random_pairs,
    ),
    Finding(
        "no-offset",
        "512 alone is poor; with 3 it is better than either.",
        SETS,
        kernels.inner_alone_is_poor,
    ),
    Finding(
        "no-offset",
        "512, 1024 and 2048 beside 7 never pay off in time.",
        SETS,
        kernels.inner_sums_cost_time,
    ),
    Finding("no-offset", "Two variables always beat one.", SETS, kernels.all_pairs_beat_one),
    Finding("no-offset", "Adding 512 to 7 does not help.", SETS, kernels.not_with_512),
    Finding(
        "no-offset",
        "The two largest violations (16) are no alternative.",
        SETS,
        kernels.pairs_of_violations,
    ),
    Finding("no-offset", "LIBSVM needs more iterations than 3 and 7.", "Figures 5, 6 and 17"),
    Finding(
        "no-offset",
        "7 is two to four times faster than LIBSVM.",
        "Figures 5, 6 and 17",
        kernels.libsvm_two_to_four,
    ),
    Finding(
        "no-offset",
        "An iteration of LIBSVM costs more than one of 1.",
        "Figures 5, 6 and 17",
        kernels.cheap_iterations,
    ),
    Finding("no-offset", "Shrinking is no advantage on this grid.", "Figure 1"),
    Finding("no-offset", "The clipped rule never takes more iterations.", "Figure 20"),
    Finding("no-offset", "It saves time, too.", "Figure 20", kernels.time_saved_by_clipping),
    Finding("no-offset", "Ten neighbours are as good as twenty.", "Figure 23"),
    Finding("no-offset", "Warm starts save much.", "Figures 7, 26 and 27"),
    Finding(
        "no-offset",
        "I0-W4, I1-W4 and I0-W6 take less time than the simple starts.",
        "Figures 7, 26 and 27",
        kernels.best_starts,
    ),
    Finding(
        "no-offset",
        "On larger sets W5 saves 45 % of the time, the others 60 %.",
        "Figures 7, 26 and 27",
        kernels.saved_by_starts,
    ),
    Finding(
        "no-offset",
        "Scaling (W3, W5) saves more than keeping the solution (W2).",
        "Figures 7, 26 and 27",
        kernels.scaling_beats_recycling,
    ),
    Finding(
        "no-offset",
        "Cold, zeros need fewer iterations than the kernel rule.",
        "Figures 7, 26 and 27",
        kernels.zeros_need_fewer,
    ),
    Finding(
        "no-offset",
        "Near the best errors the lead over LIBSVM is larger.",
        NEAR,
        kernels.lead_near_the_best,
    ),
    Finding(
        "no-offset",
        "There the clipped rule saves more, too.",
        NEAR,
        kernels.clipping_near_the_best,
    ),
    Finding(
        "no-offset",
        "There 5 neighbours are a little worse than 10.",
        NEAR,
        kernels.neighbours_near_the_best,
    ),
    Finding("no-offset", "Savings are largest at small lambda.", MAPS),
    Finding(
        "no-offset",
        "At large lambda 3 takes half the iterations of 1 and 5, at small lambda 5 is better than 1 and 3.",
        MAPS,
        kernels.which_part_helps,
    ),
    Finding("no-offset", "W5 and W6 save at nearly all points.", MAPS, kernels.falling_starts),
    Finding(
        "no-offset",
        "On flat kernels LIBSVM needs fewer iterations than 7.",
        MAPS,
        kernels.flat_kernels,
    ),
    Finding("no-offset", "The same on larger relatives of a1a and w1a.", "Table 1, a3a to w3a"),
    Finding("no-offset", "Machines with offset gain less from warm starts.", "Figure 28"),
    Finding("no-offset", "Theorem 6 bounds the iterations.", "Theorem 6"),
)
