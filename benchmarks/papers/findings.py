"""What the papers find, a sentence each, judged by the numbers that are kept.

Where no judge is named the sentence is that of the item, with its verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.papers.contents import APPENDIX, MAPS, NEAR, SETS
from benchmarks.papers.items import DIFFERS, FAILS, HOLDS, Found, Table, exponent, graded

Judged = tuple[str, str]  # a verdict, and the numbers in words


@dataclass(frozen=True)
class Finding:
    paper: str
    says: str
    item: str
    judge: Callable[[Found], Judged] | None = None


def judged(finding: Finding, found: Found | None) -> Judged:
    if found is None:
        return "not run", ""
    if finding.judge is None:
        return found.verdict, found.sentence
    return finding.judge(found)


def column(table: Table, name: str, nth: int = 0) -> list:
    """The numbers under a heading, or under the nth one of that name."""
    places = [i for i, title in enumerate(table.header) if title == name]
    return [row[places[nth]] for row in table.rows]


def verdict(holds: bool, nearly: bool = False) -> str:
    return HOLDS if holds else DIFFERS if nearly else FAILS


# ---------------------------------------------------------------- OCAS


def sgd_is_off(found: Found) -> Judged:
    worst = 0.0
    for row in found.tables[0].rows:
        values = [float(str(cell).split(" ")[0]) for cell in row[2:6]]
        worst = max(worst, values[2] / min(values) - 1)
    return verdict(worst > 0.01, worst > 1e-3), f"up to {100 * worst:.1f} % above the best"


def sgd_before_cpa(found: Found) -> Judged:
    lines = found.curves[0].lines
    (t_cpa, cpa), (t_sgd, sgd) = lines["CPA"], lines["SGD"]
    ahead = sum(
        all(value < P for t, P in zip(t_cpa, cpa) if t <= seconds)
        for seconds, value in zip(t_sgd, sgd)
    )
    return verdict(ahead == len(sgd), ahead > 0), f"ahead of CPA at {ahead} of {len(sgd)} moments"


def sgd_is_fastest(found: Found) -> Judged:
    table = found.tables[0]
    by_set: dict[str, dict[str, tuple[float, float]]] = {}
    for name, method, area, _, seconds in table.rows:
        by_set.setdefault(name, {})[method] = (seconds, area)
    first = sum(min(m, key=lambda k, m=m: m[k][0]) == "SGD" for m in by_set.values())
    lost = max(max(a for _, a in m.values()) - m["SGD"][1] for m in by_set.values())
    said = f"fastest on {first} of {len(by_set)} sets, {lost:.4f} of area behind at most"
    return verdict(first == len(by_set) and lost < 0.01, first > 0 or lost < 0.01), said


# ---------------------------------------------------------------- SVM-perf


def ordinal_is_steeper(found: Found) -> Judged:
    table = found.tables[0]
    n = column(table, "rows")
    one, two = (exponent(n, column(table, "seconds", nth)) for nth in (0, 1))
    return verdict(two > one, two > 0.9 * one), f"n^{two:.2f} against n^{one:.2f}"


def iterations_stay(found: Found) -> Judged:
    counts = column(found.tables[0], "CPA iterations")
    said = f"from {counts[0]} to {counts[-1]}"
    return verdict(counts[-1] <= 1.1 * counts[0], counts[-1] <= 1.5 * counts[0]), said


def rough_objective(found: Found) -> Judged:
    table = found.tables[0]
    rows = zip(column(table, "epsilon"), column(table, "objective above optimum, %"))
    excess = dict(rows)[0.001]
    return verdict(excess < 1, excess < 5), f"{excess:.2g} % at epsilon = 0.001"


def time_with_epsilon(found: Found) -> Judged:
    table = found.tables[0]
    if "CPU seconds" not in table.header:
        return "not run", ""
    seconds = column(table, "CPU seconds")
    times = seconds[-1] / max(seconds[0], 1e-9)
    return verdict(times < 100), f"a hundredth of epsilon takes {times:.1f} times as long"


def time_with_C(found: Found) -> Judged:
    if len(found.tables) < 2:
        return "not run", ""
    powers = [row[-1] for row in found.tables[1].rows]
    return verdict(max(powers) < 1, min(powers) < 1), f"C^{min(powers):.2f} to C^{max(powers):.2f}"


# ---------------------------------------------------------------- CPSP


def number(cell: object) -> float:
    return float(str(cell).split(" ")[0])


def rivals_are_behind(found: Found) -> Judged:
    table, behind = found.tables[0], {}
    for rival in ("CPSP(tr)", "Nystroem", "IncChol"):
        pairs = zip(column(table, "CPSP"), column(table, rival))
        behind[rival] = max(number(b) - number(a) for a, b in pairs)
    ahead = max(behind.values())
    said = ", ".join(f"{name} {-value:.2f}" for name, value in behind.items())
    return verdict(ahead < 0, ahead < 0.15), f"points behind CPSP at least: {said}"


def dominates(found: Found) -> Judged:
    wins = rows = 0
    for table in found.tables:
        for row in table.rows:
            mine, *others = (number(cell) for cell in row[1:5])
            rows += 1
            wins += mine >= max(others) - 0.05
    return verdict(wins == rows, wins > rows / 2), f"at {wins} of {rows} sizes, to 0.05 points"


def most_at_small_sizes(found: Found) -> Judged:
    leads = []
    for table in found.tables:
        lead = [number(row[1]) - max(number(c) for c in row[2:5]) for row in table.rows]
        leads.append((lead[0], lead[-1]))
    holds = sum(first > last for first, last in leads)
    said = "; ".join(
        f"{first:.2f} at the smallest k, {last:.2f} at the largest" for first, last in leads
    )
    return verdict(holds == len(leads), holds > 0), said


def beats_linear(found: Found) -> Judged:
    worst = min(
        number(row[1]) - number(row[5])
        for table in found.tables
        for row in table.rows
        if number(row[0]) >= 50
    )
    return verdict(worst >= 0, worst > -0.3), f"{worst:+.2f} points at least from k = 50 on"


def trains_faster(found: Found) -> Judged:
    seconds = {row[0]: row[2] for row in found.tables[0].rows}
    return verdict(seconds["CPSP"] < seconds["exact"]), (
        f"{seconds['CPSP']:.2g} s against {seconds['exact']:.2g} s of CPU"
    )


# ---------------------------------------------------------------- StreamSVM


def rank_of(cell: object) -> tuple[bool, float]:
    """Those that got there come first, by their seconds; then the others, by what is left."""
    return str(cell).endswith("off"), number(cell)


def fails_for_large_C(found: Found) -> Judged:
    large = [row for row in found.tables[0].rows if number(row[0]) >= 100]
    failed = sum(rank_of(row[2])[0] for row in large)
    reached = sum(not rank_of(row[1])[0] for row in large)
    said = f"for C >= 100 it misses 1e-3 in {failed} of {len(large)} cases, the cached loops reach it in {reached}"
    return verdict(failed == reached == len(large), failed > 0), said


def beats_block_minimisation(found: Found) -> Judged:
    rows = found.tables[0].rows
    wins = sum(rank_of(row[1]) <= rank_of(row[2]) for row in rows)
    return graded(wins, len(rows)), f"for {wins} of {len(rows)} values of C"


# ---------------------------------------------------------------- no offset


def all_pairs_beat_one(found: Found) -> Judged:
    table, most = found.tables[0], 0.0
    for name in table.header[2:]:
        most = max(most, *(b / a for a, b in zip(column(table, "1D"), column(table, name))))
    return verdict(most < 1, most < 1.1), f"at most {most:.2f} times the iterations of 1D"


def not_with_512(found: Found) -> Judged:
    table = found.tables[0]
    gain = [1 - b / a for a, b in zip(column(table, "7"), column(table, "519"))]
    said = f"519 saves {100 * min(gain):.0f} to {100 * max(gain):.0f} % of the iterations of 7"
    return verdict(max(gain) < 0.06, max(gain) < 0.2), said


def pairs_of_violations(found: Found) -> Judged:
    table = found.tables[0]
    one = max(b / a for a, b in zip(column(table, "1D"), column(table, "16")))
    seven = min(b / a for a, b in zip(column(table, "7"), column(table, "16")))
    said = f"at most {one:.2f} times those of 1D, at least {seven:.2f} times those of 7"
    return verdict(one < 1 < seven, one < 1.1), said


def zeros_need_fewer(found: Found) -> Judged:
    """As the paper counts: filling in C is a loop over all n rows, of cheap iterations."""
    table = found.tables[0]
    rows = [int(title.split("(")[1].split(" ")[0]) for title in column(table, "set")]
    pairs = list(zip(rows, column(table, "I0-W0"), column(table, "I1-W1")))
    ratio, without = ([(k * n + b) / a for n, a, b in pairs] for k in (1, 0))
    said = (
        f"I1-W1 takes {min(ratio):.2f} to {max(ratio):.2f} times the iterations of I0-W0 with the n "
        f"cheap ones of Procedure 4, {min(without):.2f} to {max(without):.2f} times without them"
    )
    return verdict(min(ratio) > 1, max(ratio) > 1), said


def libsvm_two_to_four(found: Found) -> Judged:
    ratio = column(found.tables[0], "matrix given")
    said = f"{min(ratio):.1f} to {max(ratio):.1f} times, with copies of the matrix on its side"
    return verdict(min(ratio) > 1.5 and max(ratio) < 5, min(ratio) > 1), said


FINDINGS = (
    Finding("ocas", "CPA's objective fluctuates, OCAS's never rises.", "Figure 1"),
    Finding("ocas", "OCAS is the fastest accurate solver.", "Table 2"),
    Finding("ocas", "SGD's objective can be far off.", "Table 2", sgd_is_off),
    Finding("ocas", "OCAS reaches the lowest objective of all.", "Figure 2"),
    Finding("ocas", "Plain SGD outcompetes even CPA.", "Figure 2", sgd_before_cpa),
    Finding("ocas", "Tuning C takes OCAS a fraction of the others' time.", "Table 3"),
    Finding("ocas", "SGD tunes fastest, at a similar area.", "Table 3", sgd_is_fastest),
    Finding("ocas", "Time is linear in n, iterations do not grow.", "Figure 3"),
    Finding("ocas", "Products and planes share out well over CPUs.", "Table 4"),
    Finding("ocas", "mu = 0.1 works consistently well.", "Changes 2 and 3"),
    Finding("ocas", "The iterations are bounded, whatever n.", "Theorem 1"),
    Finding("ocas", "15 million rows are trained on in minutes.", "15 million rows, scaled"),
    Finding("svm-perf", "Ordinal regression is somewhat slower, and tractable.", "Table 1"),
    Finding("svm-perf", "Time grows less than linearly with n.", "Figures 1 and 2"),
    Finding("svm-perf", "Iterations do not grow with n.", "Figures 1 and 2", iterations_stay),
    Finding("svm-perf", "Ordinal regression grows steeper.", "Figures 1 and 2", ordinal_is_steeper),
    Finding("svm-perf", "Rules are as accurate as those of other solvers.", "Figure 3"),
    Finding("svm-perf", "Small epsilons change neither accuracy nor much else.", "Figures 4 to 7"),
    Finding(
        "svm-perf", "The objective is within a few per cent.", "Figures 4 to 7", rough_objective
    ),
    Finding("svm-perf", "Time grows less than 1 / epsilon.", "Figures 4 to 7", time_with_epsilon),
    Finding("svm-perf", "Iterations grow as the square root of C.", "Figures 8 and 9"),
    Finding("svm-perf", "Time grows less than linearly with C.", "Figures 8 and 9", time_with_C),
    Finding("svm-perf", "Lemma 2 bounds the constraints.", "Lemma 2"),
    Finding("svm-perf", "SVM-light grows as about n^1.7.", "SVM-light's scaling"),
    Finding("cpsp", "1000 vectors match the exact machine to 0.1 points.", "Table 1"),
    Finding("cpsp", "Rivals of that size are behind.", "Table 1", rivals_are_behind),
    Finding(
        "cpsp",
        "Tuned by validation, CPSP is best at every size.",
        "Tuned for each method and size",
        dominates,
    ),
    Finding(
        "cpsp", "Most of all at small sizes.", "Tuned for each method and size", most_at_small_sizes
    ),
    Finding(
        "cpsp",
        "With 50 vectors it is no worse than a linear machine.",
        "Tuned for each method and size",
        beats_linear,
    ),
    Finding("cpsp", "Its objective is the lowest at every size.", "Figures 1 and 2"),
    Finding("cpsp", "10 vectors are enough for ADULT.", "Table 2"),
    Finding("cpsp", "It trains faster than the exact machine.", "Table 2", trains_faster),
    Finding("cpsp", "Time is about linear in n, a little more in k.", "Figure 3"),
    Finding("cpsp", "Iterations are bounded.", "Theorem 1"),
    Finding("cpsp", "The distance from the exact machine is bounded by delta.", "Theorem 2"),
    Finding("streamsvm", "It is faster than both rivals at every C.", "Figure 2"),
    Finding(
        "streamsvm", "Than block minimisation above all.", "Figure 2", beats_block_minimisation
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
    Finding("no-offset", "Errors with and without offset are equal.", "Table 1"),
    Finding("no-offset", "A finer, larger grid is no better.", "Table 1, fine grid"),
    Finding("no-offset", "7 is nearly as good as trying all partners.", SETS),
    Finding("no-offset", "Two variables always beat one.", SETS, all_pairs_beat_one),
    Finding("no-offset", "Adding 512 to 7 does not help.", SETS, not_with_512),
    Finding(
        "no-offset",
        "The two largest violations (16) are no alternative.",
        SETS,
        pairs_of_violations,
    ),
    Finding("no-offset", "LIBSVM is slower.", "Figures 5, 6 and 17"),
    Finding("no-offset", "By two to four times.", "Figures 5, 6 and 17", libsvm_two_to_four),
    Finding("no-offset", "Shrinking is no advantage on this grid.", "Figure 1"),
    Finding("no-offset", "The clipped rule never takes more iterations.", "Figure 20"),
    Finding("no-offset", "Ten neighbours are as good as twenty.", "Figure 23"),
    Finding("no-offset", "Warm starts save much.", "Figures 7, 26 and 27"),
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
