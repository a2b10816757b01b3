"""What the kept numbers say about each finding of the papers: a verdict, and the numbers in words."""

from __future__ import annotations

from benchmarks.papers.items import DIFFERS, FAILS, HOLDS, Found, Table, exponent, graded

Judged = tuple[str, str]  # a verdict, and the numbers in words


def column(table: Table, name: str, nth: int = 0) -> list:
    """The numbers under a heading, or under the nth one of that name."""
    places = [i for i, title in enumerate(table.header) if title == name]
    return [row[places[nth]] for row in table.rows]


def verdict(holds: bool, nearly: bool = False) -> str:
    return HOLDS if holds else DIFFERS if nearly else FAILS


# ---------------------------------------------------------------- OCAS


def sgd_is_off(found: Found) -> Judged:
    table, worst = found.tables[0], 0.0
    for _, _, *line in table.rows:
        values = dict(zip(table.header[2:], (float(str(cell).split(" ")[0]) for cell in line)))
        worst = max(worst, values["SGD, 10 epochs"] / min(values.values()) - 1)
    return verdict(worst > 0.01, worst > 1e-3), f"up to {100 * worst:.1f} % above the best"


def sgd_before_cpa(found: Found) -> Judged:
    ahead = moments = 0
    for curves in found.curves:
        (t_cpa, cpa), (t_sgd, sgd) = curves.lines["CPA"], curves.lines["SGD"]
        moments += len(sgd)
        ahead += sum(
            all(value < P for t, P in zip(t_cpa, cpa) if t <= seconds)
            for seconds, value in zip(t_sgd, sgd)
        )
    said = f"ahead of CPA at {ahead} of {moments} moments on {len(found.curves)} sets"
    return verdict(ahead == moments, 2 * ahead >= moments), said


def best_from_the_beginning(found: Found) -> Judged:
    shares = column(found.tables[0], "OCAS below SGD, %")
    first = sum(share > 90 for share in shares)
    said = f"below SGD at over 90 % of its iterations on {first} of {len(shares)} sets"
    return verdict(2 * first >= len(shares), first > 0), said


def sgd_wants_smaller_C(found: Found) -> Judged:
    best: dict[str, dict[str, float]] = {}
    for name, method, _, C, _ in found.tables[0].rows:
        best.setdefault(name, {})[method] = C
    said = "; ".join(f"{name}: {C['SGD']:g} against {C['OCAS']:g}" for name, C in best.items())
    smaller = sum(C["SGD"] < C["OCAS"] for C in best.values())
    return graded(smaller, len(best)), f"best C of SGD against OCAS: {said}"


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


def same_for_pairs(found: Found) -> Judged:
    table = found.tables[0]
    ratio = [
        b / a for a, b in zip(column(table, "CPA iterations"), column(table, "ROC iterations"))
    ]
    said = f"ROC area takes {min(ratio):.2f} to {max(ratio):.2f} times the iterations"
    return verdict(max(ratio) < 1.25, max(ratio) < 2), said


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


def rivals_need_more(found: Found) -> Judged:
    sizes = {row[0]: float(row[1].strip("> ")) for row in found.tables[0].rows}
    more = {name: sizes[name] / sizes["CPSP"] for name in ("CPSP(tr)", "Nystroem", "IncChol")}
    said = ", ".join(f"{name} {ratio:g} times" for name, ratio in more.items())
    return verdict(min(more.values()) >= 5, min(more.values()) > 1), said


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


def hardly_more_than_32(found: Found) -> Judged:
    table = found.tables[0]
    more = [100 * (b / a - 1) for a, b in zip(column(table, "32"), column(table, "7"))]
    said = f"{min(more):.0f} to {max(more):.0f} % more iterations than 32"
    return verdict(max(more) <= 20, max(more) <= 40), said


def more_near_the_best(found: Found) -> Judged:
    table = found.tables[0]
    more = [100 * (b / a - 1) for a, b in zip(column(table, "32"), column(table, "7"))]
    over = sum(share > 20 for share in more)
    said = f"over 20 % more on {over} of {len(more)} sets, {max(more):.0f} % at most"
    return graded(over, len(more)), said


def three_beats_its_parts(found: Found) -> Judged:
    table = found.tables[0]
    rows = list(zip(*(column(table, name) for name in ("1", "2", "3", "5", "1D"))))
    less = sum(three < min(one, two) for one, two, three, _, _ in rows)
    between = sum(three < five < one for one, _, three, five, _ in rows)
    said = f"3 below 1 and 2 on {less} of {len(rows)} sets, 5 between 3 and 1 on {between}"
    return verdict(less == between == len(rows), less + between >= len(rows)), said


def chance_is_no_better(found: Found) -> Judged:
    table = found.tables[0]
    ratio = [b / a for a, b in zip(column(table, "7"), column(table, "64"))]
    said = f"64 takes {min(ratio):.2f} to {max(ratio):.2f} times the iterations of 7"
    return verdict(min(ratio) >= 1, max(ratio) >= 1), said


def libsvm_is_like_1(found: Found) -> Judged:
    table = found.tables[1]
    ratio = [a / b for a, b in zip(column(table, "LIBSVM"), column(table, "1"))]
    said = f"LIBSVM takes {min(ratio):.2f} to {max(ratio):.2f} times the iterations of 1"
    return verdict(min(ratio) > 0.5 and max(ratio) < 2, min(ratio) < 2), said


def scaling_beats_recycling(found: Found) -> Judged:
    table = found.tables[0]
    rows = zip(*(column(table, name) for name in ("I0-W2", "I0-W3", "I0-W5")))
    better = [w3 < w2 and w5 < w2 for w2, w3, w5 in rows]
    return graded(sum(better), len(better)), f"on {sum(better)} of {len(better)} sets"


def all_pairs_beat_one(found: Found) -> Judged:
    table, most = found.tables[0], 0.0
    for name in table.header[2:]:
        most = max(most, *(b / a for a, b in zip(column(table, "1D"), column(table, name))))
    return verdict(most < 1, most < 1.1), f"at most {most:.2f} times the iterations of 1D"


def not_with_512(found: Found) -> Judged:
    table = found.tables[0]
    gain = [1 - b / a for a, b in zip(column(table, "7"), column(table, "519"))]
    said = (
        f"519 saves {round(100 * min(gain))} to {round(100 * max(gain))} % of the iterations of 7"
    )
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
    table = found.tables[0]
    ratio, whole = column(table, "solving"), column(table, "copied")
    said = (
        f"{min(ratio):.1f} to {max(ratio):.1f} times for solving alone, {min(whole):.1f} to "
        f"{max(whole):.1f} with the copy of the matrix that every fit makes"
    )
    return verdict(min(ratio) > 1.5 and max(ratio) < 5, min(ratio) > 1), said
