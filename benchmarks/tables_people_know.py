"""Ten tables people know: one command from file to model, beside a pipeline of scikit-learn.

    pip install vega_datasets statsmodels
    python -m benchmarks.tables_people_know

The pipeline is SimpleImputer and StandardScaler for numbers, SimpleImputer and OneHotEncoder for
the rest, and the same machine (`maxmargin.LinearSVC` or `LinearSVR` at C = 1). Quality is the mean
over ten random splits, 70 % to train on: accuracy, or for numbers the mean absolute error. Time is
that of whole processes on the first split, from the CSV file to a fitted model, the best of three,
the two in turn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results"
SPLITS, REPEATS = 10, 3


@dataclass(frozen=True)
class Table:
    """A table, the column to predict, and whether that is a number."""

    name: str
    frame: pd.DataFrame
    target: str
    is_number: bool = False


def tables() -> list[Table]:
    """All ten, from packages on PyPI."""
    import statsmodels.api as statsmodels
    from sklearn import datasets
    from vega_datasets import data as vega

    def bunch(load: Any) -> pd.DataFrame:
        found = load(as_frame=True)
        frame = found.frame.rename(columns={"target": "class"})
        if hasattr(found, "target_names") and len(found.get("target_names", [])):
            frame["class"] = found.target_names[frame["class"]]
        return frame

    fair = statsmodels.datasets.fair.load_pandas().data
    fair["affairs"] = np.where(fair["affairs"] > 0, "yes", "no")
    anes = statsmodels.datasets.anes96.load_pandas().data
    anes["vote"] = np.where(anes["vote"] == 1, "Dole", "Clinton")
    diabetes = datasets.load_diabetes(as_frame=True, scaled=False).frame
    riots = vega.la_riots()
    weather = vega.seattle_weather()
    return [
        Table("iris", bunch(datasets.load_iris), "class"),
        Table("wine", bunch(datasets.load_wine), "class"),
        Table("breast cancer", bunch(datasets.load_breast_cancer), "class"),
        Table("diabetes", diabetes, "target", True),
        Table("cars", vega.cars(), "Origin"),
        Table("Seattle weather", weather, "weather"),
        Table("LA riots", riots[riots["race"].notna()], "race"),
        Table("barley", vega.barley(), "yield", True),
        Table("Fair's affairs", fair, "affairs"),
        Table("ANES 1996", anes, "vote"),
    ]


def split(frame: pd.DataFrame, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    order = np.random.default_rng(seed).permutation(len(frame))
    cut = round(0.7 * len(frame))
    return frame.iloc[order[:cut]], frame.iloc[order[cut:]]


def pipeline(train: pd.DataFrame, is_number: bool, encoder: Any = None) -> Any:
    """The learner behind an encoder; by default behind what scikit-learn offers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    import maxmargin

    numbers = [c for c in train.columns if pd.api.types.is_numeric_dtype(train[c])]
    words = [c for c in train.columns if c not in numbers]
    if encoder is None:
        fill = SimpleImputer(strategy="constant", fill_value="missing")
        encoder = ColumnTransformer(
            [
                ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
                ("words", make_pipeline(fill, OneHotEncoder(handle_unknown="ignore")), words),
            ]
        )
    return make_pipeline(encoder, maxmargin.LinearSVR() if is_number else maxmargin.LinearSVC())


def plain(frame: pd.DataFrame, target: str) -> pd.DataFrame:
    """Columns as scikit-learn takes them: text with None for missing, dates as text."""
    X = frame.drop(columns=target)
    for name in X.columns:
        if not pd.api.types.is_numeric_dtype(X[name]):
            words = X[name].astype(str).to_numpy(object)
            X[name] = pd.Series(np.where(X[name].isna(), "missing", words), X.index, object)
    return X


def quality(model: Any, X: pd.DataFrame, y: pd.Series, is_number: bool) -> float:
    predicted = model.predict(X)
    return float(np.abs(predicted - y).mean() if is_number else (predicted == y).mean())


def qualities(table: Table) -> tuple[float, float]:
    """Ours and theirs, over the splits, from the files that commands would read."""
    from maxmargin.data import TableEncoder

    ours, theirs = [], []
    for seed in range(SPLITS):
        train, test = split(table.frame, seed)
        for encoder, found in ((TableEncoder(), ours), (None, theirs)):
            own = encoder is not None
            X, Z = (f.drop(columns=table.target) if own else plain(f, table.target)
                    for f in (train, test))  # fmt: skip
            fitted = pipeline(X, table.is_number, encoder).fit(X, train[table.target])
            found.append(quality(fitted, Z, test[table.target], table.is_number))
    return float(np.mean(ours)), float(np.mean(theirs))


def seconds(table: Table, folder: Path) -> tuple[float, float]:
    """Whole processes, file to model: ours and theirs in turn, the best of each."""
    split(table.frame, 0)[0].to_csv(folder / "train.csv", index=False)
    kind = ["--kind", "regression"] if table.is_number else []
    command = [sys.executable, "-m", "maxmargin"]
    ours = [*command, "train", "-q", "train.csv", "m", "--target", table.target, *kind]
    theirs = [sys.executable, "-m", "benchmarks.tables_people_know", "--peer", str(folder),
               table.target, *["--number"] * table.is_number]  # fmt: skip
    best = {"ours": np.inf, "theirs": np.inf}
    for _ in range(REPEATS):
        for name, command, where in (("ours", ours, folder), ("theirs", theirs, Path.cwd())):
            start = time.perf_counter()
            subprocess.run(command, cwd=where, check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - start)
    return best["ours"], best["theirs"]


def peer(folder: Path, target: str, is_number: bool) -> None:
    """The peer's whole work in one process."""
    train = pd.read_csv(folder / "train.csv")
    X = plain(train, target)
    pipeline(X, is_number).fit(X, train[target])


def measure(table: Table) -> dict[str, Any]:
    ours, theirs = qualities(table)
    with tempfile.TemporaryDirectory() as folder:
        own_time, their_time = seconds(table, Path(folder))
    return {
        "table": table.name, "rows": len(table.frame), "columns": table.frame.shape[1] - 1,
        "measure": "error" if table.is_number else "accuracy",
        "ours": ours, "theirs": theirs, "our_seconds": own_time, "their_seconds": their_time,
    }  # fmt: skip


def report(found: list[dict[str, Any]]) -> str:
    lines = [
        "# Ten tables people know",
        "",
        "`python -m benchmarks.tables_people_know`: `maxmargin train` beside "
        "SimpleImputer, StandardScaler and OneHotEncoder of scikit-learn before the same machine. "
        "Accuracy (or mean absolute error) over ten splits; seconds of whole processes.",
        "",
        "| table | rows | columns | | ours | scikit-learn | seconds | scikit-learn |",
        "|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for row in found:
        shown = "{:.2%}" if row["measure"] == "accuracy" else "{:.4g}"
        lines.append(
            f"| {row['table']} | {row['rows']} | {row['columns']} | {row['measure']} "
            f"| {shown.format(row['ours'])} | {shown.format(row['theirs'])} "
            f"| {row['our_seconds']:.2f} | {row['their_seconds']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", nargs=2, metavar=("FOLDER", "TARGET"))
    parser.add_argument("--number", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.peer is not None:
        peer(Path(given.peer[0]), given.peer[1], given.number)
        return
    found = []
    for table in tables():
        found.append(measure(table))
        print(report(found[-1:]).splitlines()[-1], flush=True)
    (RESULTS / "tables_people_know.json").write_text(json.dumps(found, indent=1) + "\n")
    (RESULTS / "tables_people_know.md").write_text(report(found))


if __name__ == "__main__":
    main()
