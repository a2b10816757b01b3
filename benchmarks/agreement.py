"""python -m benchmarks.agreement: do our solvers keep their promise, and agree with LIBLINEAR?

For each set, C, solver and tolerance: is the relative gap within the tolerance, is the dual value
below the primal, does the certificate agree with P(w) computed here, and how does P(w) compare with
the best LIBLINEAR reaches.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import machine, options, reports
from benchmarks.objective import Problem
from benchmarks.peers import PEERS
from benchmarks.worker import Failed, Worker

SOLVERS = ("auto", "dual", "newton", "ocas", "cpa")
ROUNDING = 1e-9  # relative; of two float64 sums in different order


@dataclass
class Row:
    """One run of ours. `above_liblinear`: P(w) over LIBLINEAR's lowest, minus 1."""

    set: str
    C: float
    solver: str
    tol: float
    seconds: float = float("nan")
    relative_gap: float = float("nan")
    above_liblinear: float = float("nan")
    faults: str = ""

    @property
    def key(self) -> tuple[str, float, str, float]:
        return self.set, self.C, self.solver, -self.tol


def main() -> None:
    p = options.parser(__doc__ or "", sets="", Cs="0.001,0.1,1,10")
    p.add_argument("--solvers", default=",".join(SOLVERS), help="comma-separated")
    p.add_argument("--tols", default="1e-3,1e-6", help="relative duality gaps, comma-separated")
    p.add_argument("--cap", type=float, default=120.0, help="seconds for one run")
    p.add_argument("--peer-cap", type=float, default=60.0, help="seconds for LIBLINEAR, all told")
    given = p.parse_args()
    here = machine.describe(given.threads)
    rows = earlier(given.out)
    for name in options.set_names(given):
        X, y = options.load(name, given)
        workers = {
            s: Worker(PEERS[peer_name(s)], X, y, given.threads) for s in given.solvers.split(",")
        }
        others = [Worker(PEERS[name], X, y, given.threads) for name in liblinears()]
        for C in options.numbers(given.Cs):
            problem = Problem(X, y, C)
            theirs = min(best_of(other, problem, given.peer_cap) for other in others)
            for solver, worker in workers.items():
                for tol in options.numbers(given.tols):
                    row = check(worker, problem, Row(name, C, solver, tol), theirs, given.cap)
                    rows[row.key] = row
                    print(f"  {' '.join(cells(row))}", flush=True)
        for worker in (*workers.values(), *others):
            worker.close()
        save(
            given, here, [rows[key] for key in sorted(rows)]
        )  # an interrupted run keeps what it has


def earlier(out: Path) -> dict[tuple, Row]:
    """Runs already in the table there: all take hours, so they may be made piece by piece."""
    table = out / "agreement.json"
    rows = json.loads(table.read_text())["rows"] if table.exists() else []
    return {row.key: row for row in (Row(**row) for row in rows)}


def save(given, here: dict, rows: list[Row]) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    kept = {"machine": here, "rows": [asdict(row) for row in rows]}
    (given.out / "agreement.json").write_text(json.dumps(kept, indent=1))
    options.write(given, "agreement.md", report(here, rows))


def peer_name(solver: str) -> str:
    return "maxmargin" if solver == "auto" else f"maxmargin-{solver}"


def liblinears() -> list[str]:
    """LIBLINEAR, which ends after 300 epochs, and its copy in scikit-learn, which need not."""
    return [n for n in ("LIBLINEAR", "sklearn-LinearSVC") if PEERS[n]().available()]


def best_of(other: Worker, problem: Problem, cap: float) -> float:
    """The lowest P it reaches from its default tolerance to ever tighter ones, while time lasts."""
    ladder = [s for s in other.peer().ladder() if next(iter(s.values())) in (0.1, 0.01, 1e-3, 1e-5)]
    lowest, left = float("inf"), cap
    for setting in ladder:
        try:
            answer = other.run(problem.C, setting, left)
        except Failed:
            break
        lowest, left = min(lowest, problem.primal(answer.w)), left - answer.seconds
        if left <= 0:
            break
    return lowest


def check(worker: Worker, problem: Problem, row: Row, theirs: float, cap: float) -> Row:
    try:
        answer = worker.run(problem.C, {"tol": row.tol}, cap)
    except Failed as error:
        row.faults = str(error).strip().splitlines()[-1]
        return row
    certificate, primal = answer.notes["certificate"], problem.primal(answer.w)
    row.seconds, row.relative_gap = answer.seconds, certificate["relative_gap"]
    row.above_liblinear = primal / theirs - 1 if math.isfinite(theirs) else math.nan
    dual = certificate["dual"]
    faults = {
        "gap above tol": not row.relative_gap <= row.tol,
        "dual above primal": dual > primal * (1 + ROUNDING),
        "dual above LIBLINEAR's primal": dual > theirs * (1 + ROUNDING),
        "certificate is not P(w)": abs(certificate["primal"] / primal - 1) > 1e-6,
        "worse than LIBLINEAR by more than tol": row.above_liblinear > row.tol,
    }
    row.faults = "; ".join(what for what, found in faults.items() if found)
    return row


def cells(row: Row) -> list[str]:
    return [
        row.set,
        f"{row.C:g}",
        row.solver,
        f"{row.tol:g}",
        f"{row.seconds:.3g}",
        f"{row.relative_gap:.1e}",
        "-" if math.isnan(row.above_liblinear) else f"{row.above_liblinear:+.1e}",
        f"**{row.faults}**" if row.faults else "ok",
    ]


def report(here: dict, rows: list[Row]) -> str:
    header = [
        "set",
        "C",
        "solver",
        "tol",
        "seconds",
        "relative gap",
        "P(w) against LIBLINEAR's best",
    ]
    bad = [row for row in rows if row.faults]
    parts = [
        "# Do the solvers keep their promise, and agree with LIBLINEAR?",
        machine.sentence(here),
        f"{len(rows) - len(bad)} of {len(rows)} runs without fault. Where the last number is "
        "negative, ours is the lower objective; where it is missing, LIBLINEAR had no answer in "
        "its time. Runs were made one set or solver at a time.",
        reports.table([*header, "verdict"], [cells(row) for row in rows]),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
