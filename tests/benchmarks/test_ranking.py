"""The benchmark of rankings and measures: its report, and its references on made-up data."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import ranking, ranking_from_disk, ranking_peers
from maxmargin import data


def test_roc_and_f1_run_on_small_files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0.5, 1, -1)
    data.save(data.Dataset(X[:200], y[:200]), tmp_path / "a9a.svm")
    data.save(data.Dataset(X[200:], y[200:]), tmp_path / "a9a.t.svm")
    out = tmp_path / "report.md"
    ranking.main(
        [
            "roc",
            "f1",
            "kernels",
            "--quick",
            "--repeat",
            "1",
            "--data",
            str(tmp_path),
            "--out",
            str(out),
        ]
    )
    text = out.read_text()
    assert "| a9a | maxmargin | tol 0.001 |" in text and "| a9a | 200 |" in text
    assert "| a9a | f1 | maxmargin | 50 free vectors |" in text
    assert str(tmp_path) not in text
    with pytest.raises(SystemExit):
        ranking.main(["unknown", "--data", str(tmp_path)])


def test_the_all_threshold_reference_orders_labels(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = np.digitize(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=400), [-1, 0, 1])
    predict = ranking_peers.all_threshold_reference(1.0, X[:300], y[:300])
    assert np.mean(np.abs(predict(X[300:]) - y[300:])) < 0.3
    table = np.column_stack((y, X))
    np.savetxt(tmp_path / "set.csv", table, delimiter=",", header="y,a,b,c", comments="")
    n, ranks, errors = ranking_peers.compare_ordinal(tmp_path / "set.csv")
    assert (n, ranks) == (400, 4)
    assert all(np.mean(error) < 0.6 for error in errors.values())


def test_a_ranking_from_disk_has_the_objective_of_memory(tmp_path, monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    data.save(data.Dataset(X, y, qid=np.arange(300) // 10), tmp_path / "mslr5k.svm")
    out = tmp_path / "report.md"
    typed = ["from_disk", "--data", str(tmp_path), "--gigabytes", "3e-5", "--C", "0.01"]
    monkeypatch.setattr("sys.argv", [*typed, "--out", str(out)])
    ranking_from_disk.main()
    lines = [line.split(" | ") for line in out.read_text().splitlines()]
    rows = {
        line[0]: float(line[5]) for line in lines if line[0].startswith(("| text", "| row store"))
    }
    assert len(rows) == 3
    assert rows["| row store, from disk"] == pytest.approx(rows["| text, in memory"], rel=1e-6)
