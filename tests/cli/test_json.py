"""The JSON of every command: names and types that programs may rely on (docs/json.md)."""

import json
import re

import numpy as np
import pytest

from maxmargin.cli.kinds import KINDS
from maxmargin.data import Dataset, save

CERTIFICATE = {
    "tol": float,
    "primal": float,
    "dual": float,
    "gap": float,
    "relative_gap": float,
    "status": str,
    "n_iter": int,
    "seconds": float,
}
TRAIN = {
    "kind": str,
    "rows": int,
    "features": int,
    "solver": str,
    "certificate": dict,
    "certificates": list,
    "parameters": dict,
    "read_seconds": float,
    "fit_seconds": float,
    "model": str,
}
CLASS = {"label": int, "precision": float, "recall": float, "f1": float, "support": int}


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[0] = 1.0
    save(Dataset(X, np.digitize(X[:, 0], [0.0]), np.arange(80) // 8), "rows.svm")


def check(told, pinned):
    for name, kind in pinned.items():
        assert type(told[name]) is kind, name


def names_of(value):
    """All keys, however deep."""
    if isinstance(value, dict):
        return set(value) | {name for item in value.values() for name in names_of(item)}
    if isinstance(value, list):
        return {name for item in value for name in names_of(item)}
    return set()


@pytest.mark.parametrize("kind", KINDS)
def test_train_info_evaluate_and_predict(run_json, rows, kind):
    trained = run_json("train", "-q", "--kind", kind, "rows.svm", "m")
    check(trained, TRAIN)
    check(trained["certificate"], CERTIFICATE)
    told = {"train": trained, "info": run_json("info", "m")}
    check(told["info"], {"kind": str, "features": int, "solver": str, "parameters": dict})
    told["evaluate"] = run_json("evaluate", "rows.svm", "m")
    assert type(told["evaluate"]["rows"]) is int
    for entry in told["evaluate"].get("classes", []):
        check(entry, CLASS)
    predicted = run_json("predict", "rows.svm", "m")
    assert set(predicted) <= {"labels", "scores"}
    if "classes" in trained:
        assert trained["classes"] == [0, 1]
        assert {type(label) for label in predicted["labels"]} == {int}
    for value in told.values():
        for name in names_of(value):
            assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]*", name), name


def test_cv_and_info_of_data(run_json, rows):
    told = run_json("cv", "rows.svm", "--Cs", "0.1,1,10", "-v", "3")
    known = {"best_C", "scoring", "Cs", "mean", "std", "scores", "widened", "model", "picture"}
    assert set(told) == known
    told = run_json("info", "rows.svm")
    check(told, {"kind": str, "rows": int, "features": int, "nonzeros": int, "density": float})
    assert told["first_feature_number"] == 1
    assert told["labels"][0][0] == 0 and type(told["labels"][0][1]) is int


def test_what_json_lacks_becomes_null():
    from maxmargin.cli.console import json_line

    assert json.loads(json_line({"a": float("nan"), "b": [float("inf"), 1]})) == {
        "a": None,
        "b": [None, 1],
    }
