"""python -m benchmarks.probabilities: what probabilities cost, and how good they are.

`probability=True` beside the fit without it and beside CalibratedClassifierCV(cv=5) around the same
machine: CPU time (one thread, the best of three, in turn), the mean log-loss on held-out rows over
random splits (70 % to train on), and rows whose most probable class is not the predicted one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from benchmarks import options
from benchmarks.datasets import SMALL
from benchmarks.reports import measured_on, table
from maxmargin import KernelSVC, LinearSVC

REPEATS = 3
MACHINES: dict[str, Callable[..., Any]] = {
    "linear": lambda **more: LinearSVC(C=1.0, n_jobs=1, **more),
    "kernel": lambda **more: KernelSVC(C=1.0, n_jobs=1, **more),
}


def cpu_seconds(make: Callable[[], Any], X: Any, y: np.ndarray) -> float:
    """Of one fit."""
    start = time.process_time()
    make().fit(X, y)
    return time.process_time() - start


def compare(make: Callable[..., Any], X: Any, y: np.ndarray, splits: int) -> list[Any]:
    """A row of the table: seconds of the three, log-losses of the two, rows that disagree."""
    ways = [
        make,
        lambda: make(probability=True),
        lambda: CalibratedClassifierCV(make(), cv=5),
    ]
    seconds = np.min([[cpu_seconds(way, X, y) for way in ways] for _ in range(REPEATS)], axis=0)
    losses, disagree = [], 0
    for seed in range(splits):
        known, held, t, target = train_test_split(X, y, train_size=0.7, random_state=seed)
        fitted = [way().fit(known, t) for way in ways[1:]]
        losses.append([log_loss(target, machine.predict_proba(held)) for machine in fitted])
        ours = fitted[0]
        likely = ours.classes_[ours.predict_proba(held).argmax(axis=1)]
        disagree += int(np.sum(likely != ours.predict(held)))
    ours, theirs = np.mean(losses, axis=0)
    return [
        f"{1000 * seconds[0]:.2f}",
        f"{seconds[1] / seconds[0]:.2f}",
        f"{seconds[2] / seconds[0]:.2f}",
        f"{ours:.4f}",
        f"{theirs:.4f}",
        disagree,
    ]


def main() -> None:
    parser = options.parser(__doc__.split("\n")[0], sets="")
    parser.add_argument("--machines", default="linear", help="linear, kernel or both, with a comma")
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    names = options.set_names(given) if given.sets else [*(data.name for data in SMALL), "a9a"]
    warnings.simplefilter("ignore")
    rows = []
    for kind in given.machines.split(","):
        for name in names:
            X, y = options.load(name, given)
            rows.append([kind, name, *compare(MACHINES[kind], X, y, given.splits)])
            print(*rows[-1], flush=True)
    header = ["machine", "set", "fit, ms", "ours / fit", "CV / fit", "log-loss", "of CV", "differ"]
    text = f"# Probabilities\n\n{table(header, rows)}\n\n{measured_on('scikit-learn')}\n"
    print(text)
    options.write(given, "probabilities.md", text)


if __name__ == "__main__":
    main()
