"""What the scripts of this folder have in common on their command line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks import datasets
from benchmarks.paths import BUILD, RESULTS, data_folder


def parser(about: str, **defaults: str) -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("--data", help="folder of the real data sets (or set MAXMARGIN_DATA)")
    p.add_argument("--rows", type=int, help="keep only that many rows, for a quick look")
    p.add_argument("--float32", action="store_true", help="give the data as float32")
    p.add_argument("--threads", type=int, default=cpus(), help="threads granted to each")
    p.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    if "sets" in defaults:
        p.add_argument("--sets", help="data sets, comma-separated; all there are by default")
    if "Cs" in defaults:
        p.add_argument("--Cs", default=defaults["Cs"], help="values of C, comma-separated")
    return p


def cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def set_names(options: argparse.Namespace) -> list[str]:
    if options.sets:
        return options.sets.split(",")
    return datasets.default_names(data_folder(options.data))


def load(name: str, options: argparse.Namespace, rows: int | None = None):
    """X and y of a data set, as the options ask."""
    wanted = rows if rows is not None else options.rows
    folder = data_folder(options.data)
    return datasets.load(name, folder, BUILD / "data", wanted, options.float32)


def write(options: argparse.Namespace, name: str, text: str) -> None:
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / name).write_text(text)
    print(f"  written: {options.out / name}")
