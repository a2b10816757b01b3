"""SVM-perf, if its programs ``svm_perf_learn`` and ``svm_perf_classify`` are on the PATH.

It is for research only, so it is neither here nor installed by anything here. Rows go to it as
svmlight text, which it reads before its own clock starts; seconds are those it prints (CPU time of
its one thread), the objective is put together from the norm and the slack that it prints.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxmargin import data


@dataclass(frozen=True)
class Answer:
    seconds: float
    iterations: int
    objective: float
    scores: list[np.ndarray]  # of each set of rows asked about


def is_there() -> bool:
    return all(shutil.which(name) for name in ("svm_perf_learn", "svm_perf_classify"))


def learn(
    X, y: np.ndarray, c: float, options: list[str], asked: list, limit: float | None = None
) -> Answer | None:
    """Trains on rows X with labels 0 and 1 and ``-c c``, and scores the rows asked about.

    None if training takes more than `limit` seconds.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save(X, y, folder / "train")
        command = ["svm_perf_learn", "-c", str(c), *options, "--b", "0"]
        try:
            said = run([*command, str(folder / "train"), str(folder / "model")], limit)
        except subprocess.TimeoutExpired:
            return None
        scores = []
        for rows in asked:
            save(rows, np.ones(rows.shape[0]), folder / "rows")
            run(
                ["svm_perf_classify", *(str(folder / name) for name in ("rows", "model", "scores"))]
            )
            scores.append(np.loadtxt(folder / "scores"))
    norm, slack = number(said, r"\|w\|="), number(said, r"\(global\): xi=")
    return Answer(
        seconds=number(said, r"Runtime in cpu-seconds: "),
        iterations=int(number(said, r"Number of iterations: ")),
        objective=0.5 * norm**2 + c * slack,
        scores=scores,
    )


def save(X, y: np.ndarray, path: Path) -> None:
    data.save(data.Dataset(X, np.where(y > 0, 1.0, -1.0)), path, format="svmlight")


def run(command: list[str], limit: float | None = None) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit).stdout


def number(said: str, before: str) -> float:
    found = re.search(before + r"([-+.\deE]+)", said)
    if found is None:
        raise ValueError(f"SVM-perf said nothing like {before!r}:\n{said}")
    return float(found[1])
