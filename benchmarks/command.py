"""python -m benchmarks.command: from text to model, whole command, ours and LIBLINEAR's `train`.

Both read the same file from the page cache, train without a bias at the same C and write a model.
The models are scored here: P(w) over the optimum. Then our parser alone, in MB/s.

LIBLINEAR's program is looked for as --liblinear, `liblinear-train` (Debian's liblinear-tools) and
`train`; without it only ours is measured.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks import machine, options, reports
from benchmarks.certifier import Certifier
from benchmarks.datasets.base import binary, open_file
from benchmarks.objective import Problem
from benchmarks.paths import BUILD, data_folder


def main() -> None:
    p = options.parser(__doc__ or "", Cs="0.01,1")
    p.add_argument("--set", default="covtype", help="data set with an svmlight file")
    p.add_argument("--repeats", type=int, default=3, help="runs of each command, in turn")
    p.add_argument("--liblinear", help="path of LIBLINEAR's train program")
    given = p.parse_args()
    text = plain_text(given)
    X, y = load_svmlight_file(str(text))
    data = X, binary(y)
    theirs = given.liblinear or shutil.which("liblinear-train") or shutil.which("train")
    skipped = "" if theirs else "LIBLINEAR's `train` is not installed here: only ours was run."
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for C in options.numbers(given.Cs)
            for row in compare(given, text, data, C, theirs, Path(folder))
        ]
    speeds = [parser_speed(text, threads) for threads in dict.fromkeys((1, given.threads))]
    here = machine.describe(given.threads)
    kept = {"machine": here, "bytes": text.stat().st_size, "commands": rows, "parser": speeds}
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "command.json").write_text(json.dumps(kept, indent=1))
    content = report(here, text, rows, speeds, skipped)
    print("\n" + content)
    options.write(given, "command.md", content)


def plain_text(given) -> Path:
    """The set as uncompressed text, of --rows lines if asked."""
    name = f"{given.set}.svm" if given.rows is None else f"{given.set}-{given.rows}.svm"
    path = BUILD / "text" / name
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            open_file(data_folder(given.data), f"{given.set}.svm") as source,
            path.open("wb") as out,
        ):
            if given.rows is None:
                shutil.copyfileobj(source, out, 1 << 20)
            else:
                out.writelines(line for _, line in zip(range(given.rows), source))
    path.read_bytes()  # into the page cache, for everybody
    return path


def commands(text: Path, C: float, theirs: str | None, model: Path) -> dict[str, list[str]]:
    ours = str(Path(sys.executable).parent / "maxmargin")
    files = [str(text), str(model)]
    cost = ["-c", f"{C:g}"]
    found = {"maxmargin train": [ours, "train", *cost, "-B", "0", "-q", *files]}
    if theirs:
        found["LIBLINEAR train -s 3"] = [theirs, "-s", "3", *cost, "-q", *files]
        found["LIBLINEAR train -s 3 -e 0.01"] = [
            theirs,
            "-s",
            "3",
            "-e",
            "0.01",
            *cost,
            "-q",
            *files,
        ]
        found["LIBLINEAR train (its default: squared hinge)"] = [theirs, *cost, "-q", *files]
    return found


def compare(given, text: Path, data, C: float, theirs: str | None, folder: Path) -> list[dict]:
    """The best of several runs of each command, taken in turn; models scored by P(w)."""
    problem, model = Problem(data[0], data[1], C), folder / "model"
    seconds: dict[str, float] = {}
    primal: dict[str, float] = {}
    for _ in range(given.repeats):
        for name, command in commands(text, C, theirs, model).items():
            model.unlink(missing_ok=True)
            start = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True)
            elapsed = time.perf_counter() - start
            if done.returncode:
                raise SystemExit(f"{' '.join(command)} failed: {done.stderr.strip()}")
            seconds[name] = min(seconds.get(name, np.inf), elapsed)
            w = our_weights(model) if name.startswith("maxmargin") else liblinear_weights(model)
            primal[name] = problem.primal(w)
            print(f"  C = {C:g}, {name}: {elapsed:.3f} s, P = {primal[name]:.8g}")
    reference = Certifier().fit(data[0], data[1], C, {"tol": 1e-6}, given.threads)
    best = min(problem.primal(reference), *primal.values())
    return [
        {"C": C, "command": name, "seconds": seconds[name], "excess": primal[name] / best - 1}
        for name in seconds
    ]


def our_weights(path: Path) -> np.ndarray:
    from maxmargin.models.files import load_model

    return load_model(path).coef.ravel()


def liblinear_weights(path: Path) -> np.ndarray:
    head, _, weights = path.read_text().partition("\nw\n")
    first_label = float(head.partition("\nlabel ")[2].split()[0])
    w = np.array(weights.split(), dtype=np.float64)
    return w if first_label > 0 else -w


def parser_speed(text: Path, threads: int) -> dict[str, float]:
    """Best of three readings of the file into CSR float32 rows."""
    from maxmargin import data

    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        data.open(text, threads=threads)
        best = min(best, time.perf_counter() - start)
    speed = text.stat().st_size / 1e6 / best
    return {"threads": threads, "seconds": best, "MB/s": speed, "MB/s a thread": speed / threads}


def report(here: dict, text: Path, rows: list[dict], speeds: list[dict], skipped: str) -> str:
    ours = {row["C"]: row["seconds"] for row in rows if row["command"].startswith("maxmargin")}
    cells = [
        [
            f"{row['C']:g}",
            row["command"],
            f"{row['seconds']:.3g}",
            "-" if "squared" in row["command"] else f"{row['excess']:.1e}",
            f"{row['seconds'] / ours[row['C']]:.2f}",
        ]
        for row in rows
    ]
    parts = [
        "# From text to model",
        f"{text.name}, {text.stat().st_size / 1e6:.1f} MB, in the page cache. "
        + machine.sentence(here),
        *([skipped] if skipped else []),
        reports.table(["C", "command", "seconds", "P(w) above the optimum", "times ours"], cells),
        "A squared hinge is another problem: that line only shows the time of the command as "
        "LIBLINEAR's users type it.",
        "## The parser alone",
        reports.table(
            ["threads", "seconds", "MB/s", "MB/s a thread"],
            [[f"{s['threads']}", *(f"{s[k]:.3g}" for k in list(s)[1:])] for s in speeds],
        ),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
