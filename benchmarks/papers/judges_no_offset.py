"""What the kept numbers say about the findings of the paper on machines without offset."""

from __future__ import annotations

from benchmarks.papers.items import Found, graded
from benchmarks.papers.judges import Judged, column, verdict


def over(found: Found, one: str, other: str, nth: int = 0) -> list[float]:
    """Of one way and another: iterations (the first table) or times (the second), a ratio a set."""
    table = found.tables[nth]
    return [a / b for a, b in zip(column(table, one), column(table, other))]


TIME = 1  # the place of the table of times


def hardly_more_than_32(found: Found) -> Judged:
    table = found.tables[0]
    more = [100 * (b / a - 1) for a, b in zip(column(table, "32"), column(table, "7"))]
    said = f"{min(more):.0f} to {max(more):.0f} % more iterations than 32"
    return verdict(max(more) <= 20, max(more) <= 40), said


def more_near_the_best(found: Found) -> Judged:
    table = found.tables[0]
    more = [100 * (b / a - 1) for a, b in zip(column(table, "32"), column(table, "7"))]
    most = sum(share > 20 for share in more)
    said = f"over 20 % more on {most} of {len(more)} sets, {max(more):.0f} % at most"
    return graded(most, len(more)), said


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


def span(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f} times"


def all_pairs_are_best(found: Found) -> Judged:
    table = found.tables[2]
    rows = list(zip(*(column(table, name) for name in ("0", "32", "128", "7"))))
    least = sum(zero <= min(others) for zero, *others in rows)
    close = [max(exact, clipped) / zero for zero, exact, clipped, _ in rows]
    return graded(least, len(rows)), (
        f"0 takes the fewest on {least} of {len(rows)} small sets, 32 and 128 up to {max(close):.2f} times those"
    )


def same_for_approximate_gain(found: Found) -> Judged:
    ratio = over(found, "128", "32")
    apart = max(max(ratio) - 1, 1 - min(ratio))
    return verdict(apart < 0.05, apart < 0.2), f"128 takes {span(ratio)} the iterations of 32"


def ahead_saves_no_time(found: Found) -> Judged:
    """Working set 8 looks one step ahead."""
    steps, time = over(found, "8", "1"), over(found, "8", "1", TIME)
    said = f"8 takes {span(steps)} the iterations of 1, and {span(time)} its time"
    return verdict(max(steps) < 1 and min(time) > 0.9, min(steps) < 1 < max(time)), said


def two_saves_no_time(found: Found) -> Judged:
    steps, time = over(found, "2", "1D"), over(found, "2", "1D", TIME)
    said = f"2 takes {span(steps)} the iterations of 1D, and {span(time)} its time"
    return verdict(max(steps) < 1 and min(time) > 0.8, max(steps) < 1), said


def seven_is_fastest(found: Found) -> Judged:
    table = found.tables[TIME]
    rows = list(zip(*(column(table, name) for name in ("7", "1D", "1", "2", "3", "5", "8"))))
    first = sum(seven <= min(others) for seven, *others in rows)
    behind = max(seven / min(others) for seven, *others in rows)
    said = f"least time on {first} of {len(rows)} sets, at most {behind:.2f} times the least"
    return verdict(first >= 0.8 * len(rows), 2 * first >= len(rows)), said


def partners_cost_time(found: Found) -> Judged:
    exact, clipped = over(found, "32", "7", TIME), over(found, "128", "7", TIME)
    said = f"32 takes {span(exact)} the time of 7, 128 {span(clipped)}"
    return verdict(min(exact + clipped) > 1.05, max(exact + clipped) > 1.05), said


def approximations_are_cheaper(found: Found) -> Judged:
    clipped, few = over(found, "128", "32", TIME), over(found, "64", "32", TIME)
    said = f"128 takes {span(clipped)} the time of 32, 64 {span(few)}"
    return verdict(max(clipped + few) < 1, min(clipped + few) < 1), said


def inner_sums_cost_time(found: Found) -> Judged:
    ratios = [r for name in ("519", "1031", "2055") for r in over(found, name, "7", TIME)]
    faster = sum(ratio < 1 for ratio in ratios)
    said = f"519, 1031 and 2055 take {span(ratios)} the time of 7, less in {faster} of {len(ratios)} cases"
    return verdict(faster == 0, 2 * faster <= len(ratios)), said


def inner_alone_is_poor(found: Found) -> Judged:
    alone, joined = over(found, "512", "7"), over(found, "515", "512")
    three = over(found, "515", "3")
    said = f"512 takes {span(alone)} the iterations of 7; 3 + 512 {span(joined)} those of 512, {span(three)} those of 3"
    return verdict(min(alone) > 1.5 and max(joined + three) < 1, min(alone) > 1), said


def random_pairs(found: Found) -> Judged:
    """Working set 256."""
    single, hybrid = over(found, "256", "1D"), over(found, "256", "64")
    said = f"256 takes {span(single)} the iterations of 1D, {span(hybrid)} those of 64"
    return verdict(max(single) < 1 < min(hybrid), max(single) < 1), said


def cheap_iterations(found: Found) -> Judged:
    table = found.tables[2]
    ratio = [a / b for a, b in zip(column(table, "LIBSVM, solving"), column(table, "1"))]
    return verdict(
        min(ratio) > 1, max(ratio) > 1
    ), f"an iteration of LIBSVM takes {span(ratio)} one of 1"


def time_saved_by_clipping(found: Found) -> Judged:
    steps, time = over(found, "clipped", "plain"), over(found, "clipped", "plain", TIME)
    said = f"{span(steps)} the iterations of the gap, {span(time)} its time"
    return verdict(max(time) < 1.05 and min(time) < 1, min(time) < 1), said


def best_starts(found: Found) -> Judged:
    table = found.tables[TIME]
    simple = [min(line) for line in zip(*(column(table, f"I0-W{k}") for k in (2, 3, 5)))]
    names = ("I0-W4", "I1-W4", "I0-W6")
    fewer = {name: sum(a < b for a, b in zip(column(table, name), simple)) for name in names}
    said = ", ".join(f"{name} on {count}" for name, count in fewer.items())
    said = f"less time than W2, W3 and W5: {said} of {len(simple)} sets"
    return graded(sum(fewer.values()), 3 * len(simple)), said


def saved_by_starts(found: Found) -> Judged:
    """On the two largest sets, where the paper gives shares."""
    saved = {
        name: 100 * (1 - max(over(found, name, "I0-W0", TIME)[-2:])) for name in ("I0-W5", "I1-W4")
    }
    said = f"on the two largest sets W5 saves {saved['I0-W5']:.0f} % of the time at least, I1-W4 {saved['I1-W4']:.0f} %"
    return verdict(saved["I0-W5"] >= 40 and saved["I1-W4"] >= 55, min(saved.values()) > 20), said


def lead_near_the_best(found: Found) -> Judged:
    leads = [(row[1], row[2]) for row in found.tables[1].rows]
    larger = sum(near > everywhere for everywhere, near in leads)
    least = min(near for _, near in leads)
    said = f"larger on {larger} of {len(leads)} sets; near the best at least {least:.1f} times, with the copy"
    return graded(larger, len(leads)), said


def clipping_near_the_best(found: Found) -> Judged:
    table = found.tables[2]
    more = sum(near >= everywhere for _, everywhere, near in table.rows)
    said = f"on {more} of {len(table.rows)} sets, up to {max(row[2] for row in table.rows):.2f} times the iterations"
    return graded(more, len(table.rows)), said


def neighbours_near_the_best(found: Found) -> Judged:
    five, twenty = over(found, "N = 5", "7"), over(found, "N = 20", "7")
    said = f"5 neighbours take {span(five)} the iterations of 10, 20 take {span(twenty)}"
    return verdict(max(five) > 1.02 and max(twenty) <= 1, max(five) > 1), said


def map_row(found: Found, name: str) -> tuple[float, float]:
    """Times the iterations of 7, at larger and at smaller lambda."""
    row = next(row for row in found.tables[0].rows if row[0] == name)
    return row[3], row[4]


def which_part_helps(found: Found) -> Judged:
    (one, one_small), (three, three_small) = map_row(found, "1"), map_row(found, "3")
    five, five_small = map_row(found, "5")
    said = f"times the iterations of 7 at larger lambda 1: {one:.2f}, 5: {five:.2f}, 3: {three:.2f}; at smaller lambda 1: {one_small:.2f}, 3: {three_small:.2f}, 5: {five_small:.2f}"
    halves, near = min(one, five) > 1.6 > 1.2 > three, five_small < min(one_small, three_small)
    return verdict(halves and near, halves or near), said


def falling_starts(found: Found) -> Judged:
    (w5, w5_small), (w6, w6_small) = map_row(found, "I0-W5"), map_row(found, "I0-W6")
    said = f"times the iterations of cold starts: W5 {w5:.2f} at larger lambda, {w5_small:.2f} at smaller; W6 {w6:.2f} and {w6_small:.2f}"
    return verdict(max(w5, w5_small, w6, w6_small) < 1, min(w5, w6) < 1), said


def flat_kernels(found: Found) -> Judged:
    """Cells from the narrowest kernel to the widest."""
    ratio = [libsvm / seven for _, libsvm, seven in found.tables[1].rows]
    said = f"LIBSVM takes {ratio[0]:.2f} times the iterations of 7 on the narrowest kernel, {ratio[-1]:.2f} times on the widest, {min(ratio):.2f} at least"
    return verdict(ratio[-1] < 1, min(ratio) < 1), said
