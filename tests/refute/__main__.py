"""Draws problems, judges their certificates, prints what was refuted, and a table.

python -m tests.refute --problems 2000 --seed 1 --jobs 2 --only 'kernel*'
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import partial

from tests.refute import workers
from tests.refute.drawing import KINDS, SECONDS
from tests.refute.judge import Verdict
from tests.refute.tasks import Task, as_test, judged

SHRUNK = 2  # examples of each fault that are made small and printed


@dataclass
class Tally:
    """The verdicts on one kind."""

    outcomes: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    faults: Counter = field(default_factory=Counter)
    examples: dict[str, list[Task]] = field(default_factory=lambda: defaultdict(list))
    worst: float = 0.0

    def add(self, task: Task, verdict: Verdict) -> None:
        if verdict.refusal:
            message = re.sub(r"/\S+/|[-+]?\d[\d.e+-]*", "#", verdict.refusal)
            self.refusals[message[:120]] += 1
        self.outcomes["refuted" if verdict.faults else verdict.outcome] += 1
        self.worst = max(self.worst, verdict.violation)
        for name in sorted(verdict.names):
            self.faults[name] += 1
            self.examples[name].append(task)


def table(tallies: dict[str, Tally]) -> str:
    head = f"{'kind':20}{'problems':>9}{'certified':>10}{'optimal':>9}{'stopped':>9}{'refused':>9}"
    lines = [head + f"{'refuted':>9}{'worst':>9}  faults"]
    for kind, tally in tallies.items():
        count = tally.outcomes
        certified = count["optimal"] + count["stopped"]
        share = f"{count['refused'] / max(count.total(), 1):.1%}"
        lines.append(
            f"{kind:20}{count.total():9}{certified:10}{count['optimal']:9}{count['stopped']:9}"
            f"{share:>9}{count['refuted']:9}{tally.worst:9.1g}  "
            + ", ".join(f"{name} {times}" for name, times in tally.faults.most_common())
        )
    total = sum((t.outcomes for t in tallies.values()), Counter())
    lines.append(
        f"{'all':20}{total.total():9}{total['optimal'] + total['stopped']:10}{total['optimal']:9}"
        f"{total['stopped']:9}{total['refused'] / max(total.total(), 1):>9.1%}{total['refuted']:9}"
    )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    options = parsed(arguments)
    kinds = [k for k in KINDS if any(fnmatch(k, pattern) for pattern in options.only or ["*"])]
    if not kinds:
        print(f"--only {' '.join(options.only)}: expected one of {', '.join(KINDS)}")
        return 2
    tasks = [(k, options.seed, i) for i in range(options.problems // len(kinds)) for k in kinds]
    tallies = {kind: Tally() for kind in kinds}
    began = time.monotonic()
    work = partial(judged, seconds=options.seconds)
    for task, verdict in workers.run(work, tasks, options.jobs):
        if isinstance(verdict, workers.Lost):
            text, verdict = str(verdict), Verdict()
            verdict.fault("lost", text)
        tallies[task[0]].add(task, verdict)
    for kind, tally in tallies.items():
        show(kind, tally, options)
    print(table(tallies))
    print(f"{len(tasks)} problems of seed {options.seed} in {time.monotonic() - began:.0f} s")
    return 1 if any(t.outcomes["refuted"] for t in tallies.values()) else 0


def show(kind: str, tally: Tally, options: argparse.Namespace) -> None:
    """Refusals by message, and a test for every fault."""
    for message, times in tally.refusals.most_common(8):
        print(f"{kind}: refused {times}: {message}")
    examples = list({task for found in tally.examples.values() for task in found[:SHRUNK]})
    for task, source in workers.run(as_test, examples, options.jobs, limit=120.0):
        print(f"\n# {task}\n{source}")


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.refute", description=__doc__)
    parser.add_argument("--problems", type=int, default=3400, help="how many, over all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="for a fit that no other limit ends"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--only", action="append", help=f"kinds, also by pattern ('kernel*'): {', '.join(KINDS)}"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
