"""``maxmargin train --scheduler`` on the session's cluster."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import maxmargin
from maxmargin import data
from maxmargin.cli.main import app


def train(client, *arguments):
    address = client.scheduler.address
    return CliRunner().invoke(app, ["train", *map(str, arguments), "--scheduler", address])


@pytest.fixture
def folder(svm, tmp_path):
    X, y = svm.blobs(600, 6, sparse=True)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        piece = slice(200 * k, 200 * (k + 1))
        data.save(data.Dataset(X[piece], y[piece]), tmp_path / "parts" / f"{k}.svm")
    return tmp_path


def test_a_folder_is_trained_on_by_workers_to_the_model_of_the_whole(client, folder, svm):
    done = train(
        client, folder / "parts", folder / "model", "-c", 0.1, "-e", 1e-7, "-w1", 2, "--json"
    )
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["rows"], told["features"], told["classes"]) == (600, 6, [-1, 1])
    X, y = svm.blobs(600, 6, sparse=True)
    local = maxmargin.LinearSVC(
        C=0.1, tol=1e-7, solver="ocas", class_weight={1.0: 2.0, -1.0: 1.0}
    ).fit(X.astype(np.float32), y)
    assert told["certificate"]["primal"] == pytest.approx(local.certificate_.primal, rel=1e-6)
    loaded = maxmargin.load(folder / "model")
    np.testing.assert_allclose(loaded.coef_, local.coef_, rtol=1e-3, atol=1e-5)


def test_workers_train_kernel_machines_in_cells(client, folder):
    kind = ("--kind", "kernel", "--cells", 150, "--gamma", 0.1, "--seed", 1)
    done = train(client, folder / "parts", folder / "model", *kind, "-w1", 2, "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["kind"] == "kernel" and told["rows"] == 600
    loaded = maxmargin.load(folder / "model")
    assert loaded.n_cells_ >= 4 and loaded.certificate_.status == "optimal"


@pytest.mark.parametrize(
    "more, said",
    [
        (["--kind", "stream"], "--scheduler is for --kind linear, regression, rank"),
        (["--kind", "kernel"], "give --cells 2000"),
        (["--solver", "dual"], "--solver dual does not work on a cluster"),
        (["--seed", "1"], "--seed has no use with --scheduler"),
    ],
)
def test_what_does_not_go_with_a_cluster_is_refused(client, folder, more, said):
    done = train(client, folder / "parts", folder / "model", *more)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_file_that_workers_cannot_read_is_named(client, folder):
    done = train(client, folder / "absent.svm", folder / "model")
    assert done.exit_code == 1
    assert "absent.svm" in done.stderr
    assert not (folder / "model").exists()


def test_tables_are_encoded_alike_by_every_worker(client, tmp_path):
    (tmp_path / "parts").mkdir()
    rng = np.random.default_rng(0)
    for k in range(3):
        city = np.array(["Rome", "Oslo", "Bonn"])[rng.integers(3, size=100)]
        size = rng.normal(10 * k, 2, size=100)
        label = (city == "Rome") | (size > 12)
        lines = [f"{a},{b:.3f},{c}" for a, b, c in zip(city, size, np.where(label, "yes", "no"))]
        (tmp_path / "parts" / f"{k}.csv").write_text("\n".join(["city,size,label", *lines]))
    done = train(client, tmp_path / "parts", tmp_path / "model")
    assert done.exit_code == 0, done.stderr
    model = maxmargin.load(tmp_path / "model")
    encoder = model.model_.encoder
    whole = np.concatenate([data.open(tmp_path / "parts" / f"{k}.csv", encode=encoder).X[:, 3]
                            for k in range(3)])  # fmt: skip
    assert abs(whole.mean()) < 1e-4 and abs(whole.std() - 1) < 1e-4
    assert model.score(tmp_path / "parts" / "0.csv") > 0.9
