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


def sgd_takes_least(found: Found) -> Judged:
    """Of the solvers of the paper."""
    table, ratio = found.tables[1], []
    names = ("OCAS", "CPA", "SGD, 10 epochs", "Pegasos")
    for line in zip(*(column(table, name) for name in names)):
        ratio.append(min(line[0], line[1], line[3]) / line[2])
    said = f"the next takes {min(ratio):.2f} to {max(ratio):.2f} times as long"
    return graded(sum(r > 1 for r in ratio), len(ratio)), said


def orders_of_magnitude(found: Found) -> Judged:
    ratio = [a / b for a, b in zip(column(found.tables[1], "CPA"), column(found.tables[1], "OCAS"))]
    said = f"our CPA takes {min(ratio):.1f} to {max(ratio):.1f} times as long"
    return verdict(max(ratio) >= 100, min(ratio) > 1), said


def sgd_before_cpa(found: Found) -> Judged:
    ahead = moments = 0
    for curves in found.curves:
        (t_cpa, cpa), (t_sgd, sgd) = curves.lines["CPA"], curves.lines["SGD"]
        moments += len(sgd)
        ahead += sum(
            all(value < P for t, P in zip(t_cpa, cpa) if t <= seconds)
            for seconds, value in zip(t_sgd, sgd)
        )
    said = f"ahead of CPA at {ahead} of {moments} moments in {len(found.curves)} cases"
    return verdict(ahead == moments, 2 * ahead >= moments), said


def best_from_the_beginning(found: Found) -> Judged:
    shares = column(found.tables[0], "OCAS below SGD, %")
    first = sum(share > 90 for share in shares)
    said = f"below SGD at over 90 % of its iterations on {first} of {len(shares)} sets"
    return verdict(2 * first >= len(shares), first > 0), said


def large_C_is_ours(found: Found) -> Judged:
    shares: dict[float, list[float]] = {}
    for C, share in zip(column(found.tables[0], "C"), column(found.tables[0], "OCAS below SGD, %")):
        shares.setdefault(C, []).append(share)
    means = [sum(shares[C]) / len(shares[C]) for C in sorted(shares)]
    said = "; ".join(f"{m:.0f} % at C = {C:g}" for C, m in zip(sorted(shares), means))
    said = f"share of its iterations that are below SGD at that time, mean of all sets: {said}"
    return verdict(means[-1] > means[0], means[-1] == means[0]), said


def same_area(found: Found) -> Judged:
    """Of the accurate solvers."""
    areas: dict[str, list[float]] = {}
    for name, method, area, *_ in found.tables[0].rows:
        if method != "SGD":
            areas.setdefault(name, []).append(area)
    apart = max(max(values) - min(values) for values in areas.values())
    return verdict(apart < 1e-3, apart < 1e-2), f"their areas lie within {apart:.4f}"


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


def gain_of(found: Found, part: str) -> tuple[float, int]:
    """How many times as fast a part is with all threads, and how many they are."""
    seconds, threads = column(found.tables[0], part), column(found.tables[0], "threads")
    return seconds[0] / seconds[-1], threads[-1]


def products_share_out(found: Found) -> Judged:
    gain, threads = gain_of(found, "products")
    whole, _ = gain_of(found, "in all")
    said = f"{threads} threads make products {gain:.2f} times as fast, a run {whole:.2f} times"
    return verdict(gain > 0.8 * threads, gain > 1), said


def search_does_not(found: Found) -> Judged:
    search, threads = gain_of(found, "line search")
    products, _ = gain_of(found, "products")
    said = f"{threads} threads make it {search:.2f} times as fast, products {products:.2f} times"
    return verdict(search < 0.6 * threads, search < products), said


def reduced_problem_is_cheap(found: Found) -> Judged:
    first = dict(zip(found.tables[0].header, found.tables[0].rows[0]))
    share = first["reduced QP"] / first["in all"]
    return verdict(share < 0.1, share < 0.5), f"{100 * share:.0f} % of the time of one thread"


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


def rough_objective_for_every_C(found: Found) -> Judged:
    excess = column(found.tables[1], "objective above optimum, %")
    said = f"{min(excess):.2g} to {max(excess):.2g} % at epsilon = 0.001"
    return verdict(max(excess) < 1, max(excess) < 5), said


def faster_than_decomposition(found: Found) -> Judged:
    ratio, rows = column(found.tables[0], "ratio"), column(found.tables[0], "rows")
    said = f"LIBSVM takes {ratio[0]:.0f} times as long on {rows[0]} rows, {ratio[-1]:.0f} times on {rows[-1]}"
    return verdict(ratio[-1] >= 100, ratio[-1] > 1), said


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


def free_beats_training(found: Found) -> Judged:
    """Of basis vectors: any, against those of the training set alone."""
    lead = [[number(row[1]) - number(row[2]) for row in table.rows] for table in found.tables]
    behind = min(min(line) for line in lead)
    said = "; ".join(
        f"{line[0]:+.2f} points at the smallest k, {line[-1]:+.2f} at the largest" for line in lead
    )
    return verdict(behind > 0, all(line[0] > 0 for line in lead)), said


def fifty_are_nearly_exact(found: Found) -> Judged:
    behind = [
        number(row[6]) - number(row[1])
        for table in found.tables
        for row in table.rows
        if row[0] == 50
    ]
    near = sum(value < 1 for value in behind)
    said = f"within a point on {near} of {len(behind)} sets: behind by " + ", ".join(
        f"{v:.2f}" for v in behind
    )
    return verdict(2 * near > len(behind), near > 0), said


def sizes_of(table: Table) -> dict[str, float]:
    """Of Table 2: how many vectors each machine needs."""
    return {row[0]: float(row[1].strip("> ")) for row in table.rows}


def rivals_need_more(found: Found) -> Judged:
    said, least = [], []
    for table in found.tables:
        sizes = sizes_of(table)
        more = {name: sizes[name] / sizes["CPSP"] for name in ("CPSP(tr)", "Nystroem", "IncChol")}
        over = {row[0] for row in table.rows if str(row[1]).startswith(">")}
        least.append(min(more.values()))
        words = (f"{name} {'over ' * (name in over)}{ratio:g}" for name, ratio in more.items())
        said.append(f"{table.caption.split(',')[0]}: {', '.join(words)}")
    return verdict(min(least) >= 5, min(least) > 1), f"times those of CPSP on {'; '.join(said)}"


def predicts_faster(found: Found) -> Judged:
    ratio = [sizes_of(table)["exact"] / sizes_of(table)["CPSP"] for table in found.tables]
    said = f"the exact machine has {', '.join(f'{r:.0f}' for r in ratio)} times the vectors"
    return verdict(min(ratio) > 10, min(ratio) > 1), said


def trains_faster(found: Found) -> Judged:
    said, wins = [], 0
    for table in found.tables:
        seconds = {row[0]: row[2] for row in table.rows}
        wins += seconds["CPSP"] < seconds["exact"]
        said.append(f"{seconds['CPSP']:.2g} s against {seconds['exact']:.2g}")
    return graded(wins, len(said)), f"CPU: {'; '.join(said)}"


def among_the_fastest(found: Found) -> Judged:
    """Of the sparse machines that reach the accuracy."""
    said, wins = [], 0
    for table in found.tables:
        seconds = {row[0]: row[2] for row in table.rows if not str(row[1]).startswith(">")}
        seconds.pop("exact")
        ratio = seconds.get("CPSP", float("inf")) / min(seconds.values())
        wins += ratio < 2
        said.append(f"{ratio:.1f}")
    return graded(wins, len(said)), f"times the least time of a sparse machine: {', '.join(said)}"


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


def more_memory_harms(found: Found) -> Judged:
    """On kddb: passes with all rows in memory against those with 30 %."""
    some, all_ = [row for row in found.tables[0].rows if row[0].startswith("kddb")][-2:]
    said = f"{some[2]} passes and {some[3]:.2g} s with 30 % of the rows, {all_[2]} and {all_[3]:.2g} s with all"
    return verdict(all_[2] > 1.1 * some[2], all_[2] > some[2]), said


def few_are_active(found: Found) -> Judged:
    table = found.tables[1]
    share = [100 * value for value in column(table, "share of the rows")]
    said = ", ".join(f"{name} {value:.1f} %" for name, value in zip(column(table, "set"), share))
    return verdict(max(share) < 5, min(share) < 5), f"rows at the margin: {said}"


def done_before_a_pass(found: Found) -> Judged:
    table, said, wins = found.tables[0], [], 0
    for name, ours, reading in zip(
        column(table, "set"), column(table, "cached loops"), column(table, "reading once")
    ):
        wins += not isinstance(ours, str) and ours < reading
        got = ours if isinstance(ours, str) else f"{ours:.2g} s"
        said.append(f"{name}: {got}, one pass of reading blocks {reading:.2g} s")
    return graded(wins, len(said)), "; ".join(said)


def ties_on_kddb(found: Found) -> Judged:
    row = next(row for row in found.tables[0].rows if row[0].startswith("kddb"))
    times = [float("inf") if isinstance(cell, str) else cell for cell in row[1:4]]
    said = f"{times[0]:.2g} s against {times[2]:.2g} (selective) and {times[1]:.2g}"
    return verdict(0.67 < times[0] / times[2] < 1.5, times[0] < 4 * times[2]), said


def eviction_before_a_visit(found: Found) -> Judged:
    falls = column(found.tables[0], "gap left by a pass")
    said = f"a pass leaves {min(falls):.2f} to {max(falls):.2f} of the gap on average"
    return verdict(max(falls) < 0.95), said
