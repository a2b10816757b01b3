"""The results as markdown: losses as plain as wins."""

from __future__ import annotations

import math

from benchmarks.measure import Measurement
from benchmarks.peers import is_ours
from benchmarks.peers.ours import DEFAULT
from benchmarks.reports import table

OURS = "maxmargin"


def best_peer(m: Measurement) -> tuple[str, float] | None:
    """The fastest of those that are not ours and got there."""
    times = {
        name: trial.seconds
        for name, outcome in m.outcomes.items()
        if not is_ours(name) and (trial := outcome.fastest(m.reference, m.plan.tol))
    }
    return min(times.items(), key=lambda item: item[1]) if times else None


def our_seconds(m: Measurement) -> float | None:
    trial = m.outcomes[OURS].fastest(m.reference, m.plan.tol) if OURS in m.outcomes else None
    return trial.seconds if trial else None


def certified_seconds(m: Measurement) -> float | None:
    """At the default tolerance: what a user gets who sets nothing, proof included."""
    trials = m.outcomes[OURS].at(DEFAULT) if OURS in m.outcomes else []
    within = [t for t in trials if m.reference.excess(t.primal) <= m.plan.tol]
    return min((t.seconds for t in within), default=None)


def speedup(ours: float | None, peer: tuple[str, float] | None) -> str:
    if ours is None:
        return "**we did not get there**"
    if peer is None:
        return "no peer got there"
    ratio = peer[1] / ours
    return f"{ratio:.2f}x faster" if ratio >= 1 else f"**{1 / ratio:.2f}x SLOWER**"


def geometric_mean(ratios: list[float]) -> str:
    if not ratios:
        return "no row to compare"
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{mean:.2f}x (geometric mean of {len(ratios)} rows)"


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def peers_table(measurements: list[Measurement]) -> str:
    names = list(dict.fromkeys(n for m in measurements for n in m.outcomes if not is_ours(n)))
    header = ["set", "C", "maxmargin", "at its default tol, certified", *names]
    header += ["best peer", "maxmargin is", "certified is"]
    rows = []
    for m in measurements:
        peer = best_peer(m)
        cells = [m.summary(name) if name in m.outcomes else "-" for name in (OURS, *names)]
        verdicts = [speedup(our_seconds(m), peer), speedup(certified_seconds(m), peer)]
        rows.append(
            [
                m.name,
                f"{m.C:g}",
                cells[0],
                seconds(certified_seconds(m)),
                *cells[1:],
                peer[0] if peer else "none",
                *verdicts,
            ]
        )
    return table(header, rows)


def losses(measurements: list[Measurement]) -> str:
    """The rows where a peer is faster than our certified answer, the worst first."""
    found = []
    for m in measurements:
        ours, peer = certified_seconds(m), best_peer(m)
        if peer is None or (ours is not None and ours <= peer[1]):
            continue
        ratio = float("inf") if ours is None else ours / peer[1]
        found.append((ratio, [m.name, f"{m.C:g}", seconds(ours), *peer[:1], seconds(peer[1])]))
    if not found:
        return "Nowhere: our certified answer comes before any peer's on every row."
    found.sort(key=lambda item: -item[0])
    header = ["set", "C", "ours, certified", "best peer", "its seconds", "times slower"]
    return table(header, [[*cells, f"{ratio:.2f}"] for ratio, cells in found])


def verdict(measurements: list[Measurement]) -> str:
    lines = []
    for title, ours in (
        ("fastest setting", our_seconds),
        ("default tol, certified", certified_seconds),
    ):
        pairs = [(m, ours(m), best_peer(m)) for m in measurements]
        ratios = [(m, peer[1] / t) for m, t, peer in pairs if t is not None and peer is not None]
        slower = [f"{m.name} C={m.C:g} ({1 / r:.2f}x)" for m, r in ratios if r < 1]
        missed = [f"{m.name} C={m.C:g}" for m, t, _ in pairs if t is None]
        alone = [f"{m.name} C={m.C:g}" for m, t, peer in pairs if t is not None and peer is None]
        mean = geometric_mean([ratio for _, ratio in ratios])
        line = f"- {title}: the best peer of each row takes {mean} our time"
        line += f"; slower on {', '.join(slower)}" if slower else "; slower on none"
        line += f"; did not get there on {', '.join(missed)}" if missed else ""
        line += f"; no peer got there on {', '.join(alone)} (not in the mean)" if alone else ""
        lines.append(line + ".")
    return "\n".join(lines)


def solvers_table(measurements: list[Measurement]) -> str:
    names = list(dict.fromkeys(n for m in measurements for n in m.outcomes if is_ours(n)))
    rows = []
    for m in measurements:
        cells = [m.summary(name) if name in m.outcomes else "-" for name in names]
        rows.append([m.name, f"{m.C:g}", taken(m), *cells])
    return table(["set", "C", "auto took", *names], rows)


def taken(m: Measurement) -> str:
    trials = m.outcomes[OURS].trials if OURS in m.outcomes else []
    return trials[-1].notes.get("solver", "-") if trials else "-"


def reference_table(measurements: list[Measurement]) -> str:
    """The optimum as known: bracketed by the harness, and what the peers make of it."""
    header = ["set", "C", "rows x features", "P* (best seen)", "certified within"]
    header += ["D(a) from", "lowest P of a peer, above P*", "a peer at its tightest, above P*"]
    rows = []
    for m in measurements:
        reference = m.reference
        theirs = [t.primal for n, o in m.outcomes.items() if not is_ours(n) for t in o.trials]
        lowest = f"{reference.excess(min(theirs)):.1e}" if theirs else "-"
        check = "-"
        if reference.independent is not None:
            check = (
                f"{reference.excess(reference.independent):.1e} ({reference.independent_source})"
            )
        within = f"{reference.uncertainty:.1e}" if reference.lower > 0 else "not certified"
        if reference.refuted:
            within = "**REFUTED: a primal value below D(a)**"
        rows.append(
            [
                m.name,
                f"{m.C:g}",
                f"{m.shape[0]} x {m.shape[1]}",
                f"{reference.upper:.8g}",
                within,
                reference.source,
                lowest,
                check,
            ]
        )
    return table(header, rows)


def settings_table(measurements: list[Measurement]) -> str:
    """Which rung won, how often it got there, and the spread of its repeats."""
    rows = []
    for m in measurements:
        for name, outcome in m.outcomes.items():
            best = outcome.fastest(m.reference, m.plan.tol)
            if best is None:
                continue
            same = outcome.at(best.setting)
            hits = sum(m.reference.excess(t.primal) <= m.plan.tol for t in same)
            setting = ", ".join(f"{k}={v:g}" for k, v in best.setting.items())
            spread = f"{min(t.seconds for t in same):.3g} to {max(t.seconds for t in same):.3g}"
            rows.append(
                [
                    m.name,
                    f"{m.C:g}",
                    name,
                    str(outcome.threads),
                    setting,
                    f"{hits} of {len(same)}",
                    spread,
                ]
            )
    header = ["set", "C", "peer", "threads", "setting that won", "times it got there", "seconds"]
    return table(header, rows)
