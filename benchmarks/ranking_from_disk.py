"""A ranking of rows that are larger than its memory, beside the same in memory.

    python -m benchmarks.ranking_from_disk [--data DIR] [--gigabytes 2] [--C 4e-8]

Needs mslr5k.svm (5000 rows of MSLR-WEB10K, 136 features) in the data folder. Its queries are
repeated under new numbers, each value multiplied by 1 + 0.05 g and one grade in 20 drawn anew,
until the text has the size asked for. Then the same ranking is trained in memory from the text, and
from a row store that stays on disk; seconds are of whole commands, memory is the peak of the
process. A few iterations on the text itself say what parsing in every pass costs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import peak, ranking
from benchmarks.paths import RESULTS, data_folder
from benchmarks.reports import measured_on, put, table

FEW = 4  # iterations on the text


def write_rows(path: Path, folder: Path, size: float) -> int:
    """The rows again and again; how many there are."""
    known = ranking.read(folder, "mslr5k")
    X, rng, n = known.X.toarray(), np.random.default_rng(0), 0
    with path.open("w") as file:
        while file.tell() < size:
            values = (X * (1 + 0.05 * rng.normal(size=X.shape))).tolist()
            drawn = rng.integers(0, 5, len(known.y))
            grades = np.where(rng.random(len(known.y)) < 0.05, drawn, known.y).astype(int)
            for grade, query, row in zip(grades, known.qid, values, strict=True):
                entries = " ".join(f"{j}:{value:.6g}" for j, value in enumerate(row, 1))
                file.write(f"{grade} qid:{1000 * n + int(query)} {entries}\n")
            n += len(grades)
    return n


def trained(by: str, rows: Path, C: float, *options: str) -> list:
    """A line of the table, and what the command told."""
    model = str(rows.with_suffix(".model"))
    arguments = ["train", "--kind", "rank", "-c", f"{C:g}", "--force", *options, str(rows), model]
    began = time.perf_counter()
    told, highest = peak.run(*arguments)
    seconds = time.perf_counter() - began
    proof = told["certificate"]
    each = told["fit_seconds"] / max(proof["n_iter"], 1)
    facts = [f"{proof['primal']:.10g}", f"{1 - proof['dual'] / proof['primal']:.1e}"]
    return [by, seconds, proof["n_iter"], each, f"{highest / 1e6:.0f}", *facts]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data")
    p.add_argument("--gigabytes", type=float, default=2.0)
    p.add_argument("--C", type=float, default=4e-8)
    p.add_argument("--out", type=Path, default=RESULTS / "ranking.md")
    chosen = p.parse_args()
    folder = data_folder(chosen.data)
    if folder is None:
        p.error("no data: name its folder with --data, or set MAXMARGIN_DATA")
    with tempfile.TemporaryDirectory() as place:
        text, store = Path(place) / "rows.svm", Path(place) / "rows.arrow"
        n = write_rows(text, folder, chosen.gigabytes * 1e9)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "maxmargin", "convert", text, store], check=True)
        converted = time.perf_counter() - began
        rows = [
            trained("text, in memory", text, chosen.C),
            trained("row store, from disk", store, chosen.C, "--from-disk"),
            trained(
                f"text, from disk, {FEW} iterations",
                *(text, chosen.C, "--from-disk", "--max-iter", str(FEW)),
            ),
        ]
        sizes = [os.path.getsize(path) / 1e9 for path in (text, store)]
    header = ["rows", "seconds", "iterations", "seconds an iteration", "peak MB"]
    told = (
        f"{n} rows of 136 features, {sizes[0]:.1f} GB of text; the row store is "
        f"{sizes[1]:.2f} GB, and writing it took {converted:.1f} s. C = {chosen.C:g}.\n\n"
        + table([*header, "objective", "relative gap"], rows)
    )
    print(told)
    titles = [section.title for section in ranking.SECTIONS.values()]
    title = ranking.FROM_DISK
    put(chosen.out, ranking.HEAD, [*titles, title], {title: f"{told}\n\n{measured_on()}"})


if __name__ == "__main__":
    main()
