"""python -m benchmarks.unseen: the same table on sets that no constant was chosen on.

Problems whose shape is drawn from a seed, and the small sets of the LIBSVM page. `--held-out` takes
other seeds, which nobody looks at while a change is in the making. `--choice` times our own solvers
only, with every loss of `--losses`, and says how far `auto` is from the best of them: CPU time of
whole fits, taken in turn in one process, of dense arrays where most entries are not 0.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings

from benchmarks import options, run
from benchmarks.datasets import DRAWN, HELD_OUT, SMALL
from benchmarks.losses import CLASSIFICATION, regression_target
from benchmarks.paths import data_folder
from benchmarks.reports import table

OURS = ("auto", "dual", "newton", "ocas")
NEAR = 1.15  # of the best solver's seconds
DENSE = 0.5  # of the entries not 0
HOPELESS = 3.0  # times the best: not repeated


def main() -> None:
    held_out = taken("--held-out")
    if taken("--choice"):
        choose(parse(), held_out)
        return
    run.main(["--sets", ",".join(names(None, held_out)), "--Cs", "0.01,1", *sys.argv[1:]])


def taken(flag: str) -> bool:
    """Whether the command line has that flag, which is taken from it."""
    found = flag in sys.argv
    if found:
        sys.argv.remove(flag)
    return found


def parse() -> argparse.Namespace:
    p = options.parser(__doc__ or "", sets="", Cs="1e-4,1e-2,1,100")
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--losses", default="hinge", help="losses, comma-separated")
    p.add_argument("--cap", type=float, default=10.0, help="seconds for one fit")
    p.set_defaults(threads=1)
    return p.parse_args()


def names(folder: str | None, held_out: bool) -> list[str]:
    sets = HELD_OUT if held_out else (*DRAWN, *SMALL)
    return [data.name for data in sets if data.present(data_folder(folder))]


def as_kept(X):
    """As people keep such rows: in a dense array where most entries are not 0."""
    return X.toarray() if X.nnz > DENSE * X.shape[0] * X.shape[1] else X


def choose(given: argparse.Namespace, held_out: bool) -> None:
    rows, near = [], 0
    for name in given.sets.split(",") if given.sets else names(given.data, held_out):
        X, y = options.load(name, given)
        X = as_kept(X)
        shape = f"{X.shape[0]} x {X.shape[1]}"
        for loss, C in itertools.product(given.losses.split(","), options.numbers(given.Cs)):
            seconds, took = times(X, y, loss, C, given)
            best = min(seconds[solver] for solver in OURS[1:])
            near += seconds["auto"] <= NEAR * best
            cells = [f"{1e3 * seconds[solver]:.2f}" for solver in OURS]
            ratio = f"{seconds['auto'] / best:.2f}"
            rows.append([name, shape, loss, f"{C:g}", took, *cells, ratio])
            print("  ".join(rows[-1]), flush=True)
    rows.sort(key=lambda row: -float(row[-1]))  # what we lose first
    header = [
        "set",
        "rows x features",
        "loss",
        "C",
        "auto took",
        *(f"{s}, CPU ms" for s in OURS),
        "auto / best",
    ]
    text = f"# How far `auto` is from the best solver\n\n{table(header, rows)}\n\n"
    text += f"Within {NEAR:g} of the best of dual, newton, ocas: {near} of {len(rows)} pairs.\n"
    print(text)
    options.write(given, "choice.md", text)


def times(X, y, loss: str, C: float, given: argparse.Namespace) -> tuple[dict[str, float], str]:
    """Best seconds of each solver, runs taken in turn; and which method `auto` ended with."""
    from maxmargin import LinearSVC, LinearSVR

    machine, target = LinearSVC, y
    if loss not in CLASSIFICATION:
        machine, target = LinearSVR, regression_target(X, y)
    best, took = dict.fromkeys(OURS, float("inf")), ""
    for repeat in range(given.repeats):
        for solver in OURS:
            if repeat > 1 and best[solver] > HOPELESS * min(best.values()):
                continue
            given_to = {"C": C, "loss": loss, "solver": solver, "n_jobs": given.threads}
            model = machine(**given_to, random_state=0, max_time=given.cap)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, target)
            best[solver] = min(best[solver], time.process_time() - start)
            took = model.solver_ if solver == "auto" else took
    return best, took


if __name__ == "__main__":
    main()
