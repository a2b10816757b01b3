"""python -m benchmarks.run: seconds to a primal value within --tol of the optimum, every peer."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from benchmarks import machine, options, pictures, tables
from benchmarks.certifier import Certifier
from benchmarks.measure import Measurement, Plan
from benchmarks.peers import PEERS, Peer, find
from benchmarks.peers.ours import Auto
from benchmarks.worker import Worker

HOW = """Seconds of training until P(w) = 1/2 ||w||^2 + C sum hinge is within {tol:g} (relative) of
the optimum; no bias; data in memory, in each peer's own form where it has one. P is computed by the
harness in float64 from the w returned. Each peer climbs its own ladder of settings and its fastest
run that got there counts, best of {repeats} more repeats taken in turn; given up after {cap:g} s of
training."""


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = options.parser(__doc__ or "", sets="", Cs="0.01,1,10")
    p.add_argument("--peers", default=",".join(PEERS), help="comma-separated")
    p.add_argument("--repeats", type=int, default=3, help="of each peer's winning setting")
    p.add_argument("--tol", type=float, default=1e-3, help="relative distance to the optimum")
    p.add_argument("--cap", type=float, default=60.0, help="seconds for one peer on one problem")
    p.add_argument("--redraw", type=Path, help="no runs: tables and picture of this results file")
    p.add_argument("--minutes", type=float, help="for all: begin no set and C that may take longer")
    return p.parse_args(argv)


class Budget:
    """Minutes for all problems; None is no limit. The next is taken to last as long as the longest
    so far."""

    def __init__(self, minutes: float | None) -> None:
        self.begun, self.seconds = time.monotonic(), 60 * minutes if minutes else float("inf")
        self.longest = 0.0

    def took(self, seconds: float) -> None:
        self.longest = max(self.longest, seconds)

    def is_spent(self) -> bool:
        return time.monotonic() - self.begun + self.longest > self.seconds


def main(argv: list[str] | None = None) -> None:
    given = parse(argv)
    if given.redraw:
        kept = json.loads(given.redraw.read_text())
        plan = Plan(**kept["plan"])
        kept_runs = [Measurement.from_dict(m, plan) for m in kept["measurements"]]
        report(given, kept["machine"], plan, kept_runs, kept["skipped"])
        return
    plan = Plan(given.tol, given.repeats, given.threads, given.cap)
    # Read by OpenMP and BLAS when a worker starts.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(given.threads)
    peers, skipped = present(find(given.peers.split(",")))
    here = machine.describe(given.threads)
    done: list[Measurement] = []
    budget = Budget(given.minutes)
    for name in options.set_names(given):
        if budget.is_spent():
            skipped.append(f"{name}: not begun, too little was left of {given.minutes:g} minutes")
            continue
        X, y = options.load(name, given)
        print(f"{name}: {X.shape[0]} x {X.shape[1]}, {X.nnz} non-zeros")
        workers = {peer.name: Worker(peer, X, y, given.threads) for peer in peers}
        certifier = Worker(Certifier, X, y, given.threads) if Auto().available() else None
        for C in options.numbers(given.Cs):
            if budget.is_spent():
                left = f"too little was left of {given.minutes:g} minutes"
                skipped.append(f"{name}, C = {C:g}: not begun, {left}")
                continue
            start = time.monotonic()
            print(f"  C = {C:g}")
            done.append(Measurement(name, X, y, C, plan))
            done[-1].run(workers, certifier)
            budget.took(time.monotonic() - start)
            print(f"    ({time.monotonic() - start:.0f} s)")
            save(given, here, plan, done, skipped)  # an interrupted run keeps what it has
        for worker in (*workers.values(), *([certifier] if certifier else [])):
            worker.close()
    report(given, here, plan, done, skipped)


def present(peers: list[type[Peer]]) -> tuple[list[type[Peer]], list[str]]:
    """Those that are installed, and a sentence for each of the others."""
    skipped = [peer().missing() for peer in peers if not peer().available()]
    for sentence in skipped:
        print(sentence)
    return [peer for peer in peers if peer().available()], skipped


def save(given, here: dict, plan: Plan, done: list[Measurement], skipped: list[str]) -> None:
    given.out.mkdir(parents=True, exist_ok=True)
    content = {
        "machine": here,
        "plan": vars(plan),
        "skipped": skipped,
        "measurements": [m.as_dict() for m in done],
    }
    (given.out / "linear.json").write_text(json.dumps(content, indent=1, default=str))


def report(given, here: dict, plan: Plan, done: list[Measurement], skipped: list[str]) -> None:
    parts = [
        "# Linear SVM: time to a given precision",
        HOW.format(tol=plan.tol, repeats=plan.repeats, cap=plan.cap),
        machine.sentence(here),
        *([" ".join(f"{sentence}." for sentence in skipped)] if skipped else []),
        "## Where we lose",
        tables.losses(done),
        tables.verdict(done),
        "## Beside the peers",
        tables.peers_table(done),
        "![Time to gap](linear.png)",
        "## Our solvers",
        tables.solvers_table(done),
        "## The optimum",
        tables.reference_table(done),
        "## The settings that won",
        tables.settings_table(done),
    ]
    text = "\n\n".join(parts) + "\n"
    print("\n" + text)
    options.write(given, "linear.md", text)
    pictures.curves(done, given.out / "linear.png")


if __name__ == "__main__":
    main()
