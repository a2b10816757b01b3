"""What a reproduced table or figure is, where its numbers are kept, and which ones there are."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets, machine
from benchmarks.paths import BUILD

HOLDS, DIFFERS, FAILS = "holds", "holds with a difference", "does not hold here"
UNDECIDED = "not decided (busy machine)"
QUIET = (
    0.1  # while wall-clock seconds are compared: of the CPUs' time that other programs may take,
)
# or of its own time that a run may wait for a CPU


@dataclass
class Table:
    caption: str
    header: list[str]
    rows: list[list[Any]]


@dataclass
class Curves:
    """Lines of one picture, by name: x and y."""

    title: str
    x: str
    y: str
    lines: dict[str, tuple[list[float], list[float]]]
    log: str = ""  # axes with a logarithmic scale: "x", "y" or "xy"


@dataclass
class Found:
    """What a run of an item found: a sentence, a verdict, and the numbers behind them."""

    sentence: str
    verdict: str
    tables: list[Table] = field(default_factory=list)
    curves: list[Curves] = field(default_factory=list)
    seconds: float = 0.0
    quick: bool = False
    machine: str = ""
    others: float | None = None  # share of the CPUs' time that other programs took, if known
    waited: float | None = None  # share of its time that it waited for a CPU, if known


@dataclass(frozen=True)
class Given:
    """The data, and how much may be done with it."""

    folder: Path | None
    quick: bool
    threads: int

    def load(self, name: str, rows: int | None = None) -> tuple[Any, np.ndarray]:
        return datasets.load(name, self.folder, BUILD / "data", rows)

    def pick(self, quick: Any, whole: Any) -> Any:
        return quick if self.quick else whole


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and the function that makes it again.

    `says` is the paper's finding, `differs` why ours may be another; without `run` the item is not
    possible here, and `differs` is the reason. One that compares seconds of the wall clock (`wall`)
    is decided by a run that had the CPUs it wanted only; others count, or compare CPU time of one thread.
    """

    paper: str
    name: str
    says: str
    differs: str
    needs: tuple[str, ...] = ()
    run: Callable[[Given], Found] | None = None
    wall: bool = False

    def undecided(self, found: Found) -> bool:
        known = [share for share in (found.others, found.waited) if share is not None]
        return self.wall and not any(share <= QUIET for share in known)

    def verdict(self, found: Found) -> str:
        return UNDECIDED if self.undecided(found) else found.verdict

    @property
    def file(self) -> str:
        return f"{self.paper}-{self.name.lower().replace(' ', '-').replace(',', '')}.json"


ITEMS: list[Item] = []


def item(
    paper: str,
    name: str,
    says: str,
    differs: str = "",
    needs: tuple[str, ...] = (),
    wall: bool = False,
):
    """Marks the function that makes a table or figure again."""

    def mark(run: Callable[[Given], Found]) -> Callable[[Given], Found]:
        ITEMS.append(Item(paper, name, says, differs, needs, run, wall))
        return run

    return mark


def absent(paper: str, name: str, says: str, why: str) -> None:
    """Lists a table or figure that cannot be made here."""
    ITEMS.append(Item(paper, name, says, why))


def missing_data(needed: Item, given: Given) -> list[str]:
    """The files of the sets it needs that are not there."""
    lacking = [datasets.SETS[name] for name in needed.needs]
    return [file for data in lacking if not data.present(given.folder) for file in data.files]


def run(asked: Item, given: Given, kept: Path, again: bool) -> Found | None:
    """The item's numbers: those of an earlier run that was as thorough, or fresh ones."""
    path = kept / asked.file
    if path.is_file() and not again:
        found = read(path)
        if given.quick or not found.quick:
            return found
    if asked.run is None or missing_data(asked, given):
        return None
    before, began = machine.cpu_seconds(), time.perf_counter()
    with machine.Waiting() as waiting:
        found = asked.run(given)
    found.seconds, found.quick = time.perf_counter() - began, given.quick
    found.waited = waiting.share
    found.others = machine.share_of_others(before, found.seconds)
    found.machine = machine.sentence(machine.describe(given.threads))
    kept.mkdir(parents=True, exist_ok=True)
    keep(found, path)
    return read(path)


def keep(found: Found, path: Path) -> None:
    """Writes the numbers, of curves only the points that a picture can show."""
    written = dataclasses.replace(found, curves=[visible(curves) for curves in found.curves])
    path.write_text(json.dumps(dataclasses.asdict(written), indent=1, default=float))


def visible(curves: Curves) -> Curves:
    """Without points that lie within a pixel of the last one that is drawn."""
    lines_of = curves.lines.values()
    axes = [np.concatenate([np.asarray(line[k], float) for line in lines_of]) for k in (0, 1)]
    if not axes[0].size:
        return curves
    scales = [Scale(values, name in curves.log) for values, name in zip(axes, "xy")]
    lines = {}
    for label, line in curves.lines.items():
        places = np.column_stack([scale(values) for scale, values in zip(scales, line)])
        kept: list[int] = []
        for i in range(len(places)):
            if not kept or np.abs(places[i] - places[kept[-1]]).max() >= 1:
                kept.append(i)
        kept += [len(places) - 1] if kept and kept[-1] < len(places) - 1 else []
        x, y = ([float(f"{values[i]:.7g}") for i in kept] for values in line)
        lines[label] = (x, y)
    return dataclasses.replace(curves, lines=lines)


class Scale:
    """The axis of a picture: numbers to pixels."""

    PIXELS = 500

    def __init__(self, values: np.ndarray, log: bool) -> None:
        self._log, self._floor = log, values[values > 0].min(initial=np.inf) if log else -np.inf
        shown = self._measure(values)
        self._least, self._extent = shown.min(), max(np.ptp(shown), 1e-12)

    def __call__(self, values: list[float]) -> np.ndarray:
        shown = self._measure(np.asarray(values, dtype=float))
        return self.PIXELS * (shown - self._least) / self._extent

    def _measure(self, values: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(values, self._floor)) if self._log else values


def read(path: Path) -> Found:
    kept = json.loads(path.read_text())
    kept["tables"] = [Table(**table) for table in kept["tables"]]
    kept["curves"] = [Curves(**curves) for curves in kept["curves"]]
    return Found(**kept)


def graded(wins: int, of: int) -> str:
    """The verdict on a finding that is to hold in every one of several cases."""
    return HOLDS if wins == of else DIFFERS if 2 * wins >= of else FAILS


def exponent(x: list[float], y: list[float]) -> float:
    """The p of ``y ~ x^p``, by least squares on logarithms."""
    return float(np.polyfit(np.log(x), np.log(np.maximum(y, 1e-12)), 1)[0])
