"""python -m benchmarks.unseen: the same table on sets that no constant was chosen on.

Problems whose shape is drawn from a seed, and the small sets of the LIBSVM page. `--choice` times
our own solvers only, and says how far `auto` is from the best of them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from benchmarks import options, run
from benchmarks.datasets import DRAWN, SMALL
from benchmarks.paths import data_folder
from benchmarks.reports import table

OURS = ("auto", "dual", "newton", "ocas")
NEAR = 1.15  # of the best solver's seconds
HOPELESS = 3.0  # times the best: not repeated


def main() -> None:
    if "--choice" in sys.argv:
        sys.argv.remove("--choice")
        choose(parse())
        return
    run.main(["--sets", ",".join(names(None)), "--Cs", "0.01,1", *sys.argv[1:]])


def parse() -> argparse.Namespace:
    p = options.parser(__doc__ or "", sets="", Cs="1e-4,1e-2,1,100")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--cap", type=float, default=10.0, help="seconds for one fit")
    return p.parse_args()


def names(folder: str | None) -> list[str]:
    return [data.name for data in (*DRAWN, *SMALL) if data.present(data_folder(folder))]


def choose(given: argparse.Namespace) -> None:
    rows, near = [], 0
    for name in given.sets.split(",") if given.sets else names(given.data):
        X, y = options.load(name, given)
        for C in options.numbers(given.Cs):
            seconds, took = times(X, y, C, given)
            best = min(seconds[name] for name in OURS[1:])
            near += seconds["auto"] <= NEAR * best
            cells = [f"{1e3 * seconds[solver]:.2f}" for solver in OURS]
            ratio = f"{seconds['auto'] / best:.2f}"
            rows.append([name, f"{X.shape[0]} x {X.shape[1]}", f"{C:g}", took, *cells, ratio])
            print("  ".join(rows[-1]), flush=True)
    rows.sort(key=lambda row: -float(row[-1]))  # what we lose first
    header = [
        "set",
        "rows x features",
        "C",
        "auto took",
        *(f"{s}, ms" for s in OURS),
        "auto / best",
    ]
    text = f"# How far `auto` is from the best solver\n\n{table(header, rows)}\n\n"
    text += f"Within {NEAR:g} of the best of dual, newton, ocas: {near} of {len(rows)} pairs.\n"
    print(text)
    options.write(given, "choice.md", text)


def times(X, y, C: float, given: argparse.Namespace) -> tuple[dict[str, float], str]:
    """Best seconds of each solver, runs taken in turn; and which method `auto` ended with."""
    from maxmargin import LinearSVC

    best, took = dict.fromkeys(OURS, float("inf")), ""
    for repeat in range(given.repeats):
        for solver in OURS:
            if repeat and best[solver] > HOPELESS * min(best.values()):
                continue
            model = LinearSVC(C=C, solver=solver, random_state=0, max_time=given.cap)
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
            best[solver] = min(best[solver], time.perf_counter() - start)
            took = model.solver_ if solver == "auto" else took
    return best, took


if __name__ == "__main__":
    main()
