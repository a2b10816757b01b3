"""``--kind stream`` from files of numbers and of strings."""

import json

import numpy as np
import pytest

from maxmargin import StreamSVC, StreamSVR, load
from maxmargin.data import Dataset, save


@pytest.fixture
def fasta(tmp_path):
    rng = np.random.default_rng(0)
    texts = ["".join(row) for row in rng.choice(list("ACGT"), (200, 20))]
    path = tmp_path / "sites.fasta"
    lines = (f"> site {k}, label={1 if 'GA' in t else -1}\n{t}\n" for k, t in enumerate(texts))
    path.write_text("".join(lines))
    return path


def test_strings_of_a_fasta_file(run, fasta, tmp_path):
    model = tmp_path / "model"
    arguments = ["--kind", "stream", "--memory", "20MB", "--features", "weighted_degree:3"]
    done = run("train", *arguments, "--json", str(fasta), str(model))
    told = json.loads(done.stdout)
    assert told["certificate"]["relative_gap"] <= 1e-3
    assert told["classes"] == [-1, 1]
    assert told["features_made"]["degree"] == 3
    assert isinstance(load(model), StreamSVC)
    lines = run("predict", str(fasta), str(model)).stdout.split()
    assert len(lines) == 200
    judged = json.loads(run("evaluate", "--json", str(fasta), str(model)).stdout)
    assert judged["accuracy"] > 0.8
    assert judged["roc_area"] > 0.85
    assert "weighted_degree" in run("info", str(model)).stdout


def test_numbers_are_refused_by_a_model_of_strings(run, fasta, svm, tmp_path):
    X, y = svm.blobs(50, 6)
    save(Dataset(X, y), tmp_path / "rows.svm")
    model = str(tmp_path / "model")
    run("train", "--kind", "stream", "--features", "weighted_degree:3", str(fasta), model)
    for command in (["evaluate"], ["predict"], ["evaluate", "--from-disk"]):
        outcome = run(*command, str(tmp_path / "rows.svm"), model)
        assert outcome.exit_code == 1
        assert "its rows are numbers, and the model is of strings" in outcome.stderr


@pytest.mark.parametrize("kind", ["linear", "measure", "stream"])
def test_a_file_for_each_class(run, run_json, tmp_path, kind):
    rng = np.random.default_rng(0)
    for name, middle in (("a.fa", "GAT"), ("b.fa", "nnn")):
        ends = ["".join(row) for row in rng.choice(list("acgt"), (60, 10))]
        rows = (f">s{k}\n{t[:5]}{middle}{t[5:]}\n" for k, t in enumerate(ends))
        (tmp_path / name).write_text("".join(rows))
    both = ["--positive", str(tmp_path / "a.fa"), "--negative", str(tmp_path / "b.fa")]
    model = str(tmp_path / "model")
    told = run_json("train", "--kind", kind, "--features", "weighted_degree:3", *both, model)
    assert told["rows"] == 120
    assert told["certificate"]["relative_gap"] <= 1e-3
    assert run_json("evaluate", *both, model)["accuracy"] == 1.0
    assert run("predict", str(tmp_path / "a.fa"), model).stdout.split() == ["1"] * 60
    for wrong in (both[:2], [*both, str(tmp_path / "x"), model]):
        assert run("train", "--features", "spectrum:3", *wrong, model).exit_code != 0


def test_numbers_with_a_checkpoint_and_weights(run, svm, tmp_path):
    X, y = svm.blobs(500, 6)
    save(Dataset(X, y), tmp_path / "rows.svm")
    for _ in range(2):  # the second goes on from the first
        run(
            *("train", "--kind", "stream", "--class-weight", "1=2", "--memory", "50MB"),
            *("--checkpoint", str(tmp_path / "state"), "--checkpoint-every", "0"),
            *(str(tmp_path / "rows.svm"), str(tmp_path / "model")),
        )
    model = load(tmp_path / "model")
    same = StreamSVC(class_weight={1.0: 2.0}).fit(X.astype(np.float32), y)
    assert model.certificate_.primal == pytest.approx(same.certificate_.primal, rel=2e-3)
    assert (tmp_path / "state").exists()


def test_probabilities_of_the_logistic_loss(run, svm, tmp_path):
    X, y = svm.blobs(300, 4, noise=0.5)
    rows, model = tmp_path / "rows.svm", tmp_path / "model"
    save(Dataset(X, y), rows)
    assert (
        run("train", "--kind", "stream", "--loss", "logistic", str(rows), str(model)).exit_code == 0
    )
    assert load(model).loss == "logistic"
    shown = run("predict", "-q", "--probabilities", str(rows), str(model))
    assert shown.exit_code == 0, shown.stderr
    assert "loss" in run("info", str(model)).stdout


def test_quantiles_of_real_values(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)).astype(np.float32)
    rows, model = tmp_path / "rows.csv", tmp_path / "model"
    save(Dataset(X, X[:, 0] + rng.normal(size=300)), rows)
    options = ["--kind", "stream-regression", "--loss", "quantile", "--quantile", "0.1,0.9"]
    done = run("train", *options, "--json", str(rows), str(model))
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["certificate"]["relative_gap"] <= 1e-3
    fitted = load(model)
    assert isinstance(fitted, StreamSVR)
    shown = run("predict", "-q", str(rows), str(model)).stdout.split("\n")
    first = [float(field) for field in shown[0].replace(",", " ").split()]
    np.testing.assert_allclose(first, fitted.predict(str(rows))[0], rtol=1e-4)
    judged = run("evaluate", "--json", str(rows), str(model))
    assert judged.exit_code == 0, judged.stderr
    assert fitted.score(str(rows)) < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "kernel", "--features", "pairs"], "--features is for --kind linear"),
        (["--kind", "stream", "--solver", "dual"], "--solver is for"),
        (["--kind", "stream", "--features", "nonsense"], "none of"),
        (["--kind", "stream", "--memory", "1KB"], "too small"),
        (["--kind", "stream", "--loss", "huber"], "loss"),
        (["--kind", "stream", "--epsilon", "1"], "--epsilon is for --kind regression"),
        (["--kind", "stream-regression", "--loss", "hinge"], "loss"),
        (["--kind", "stream-regression", "--class-weight", "balanced"], "--class-weight is for"),
        (["--kind", "linear", "--format", "fasta"], "need --features"),
    ],
)
def test_options_that_do_not_fit_are_refused(run, svm, tmp_path, arguments, message):
    X, y = svm.blobs(50, 3)
    path = tmp_path / "rows.svm"
    save(Dataset(X, y), path)
    done = run("train", *arguments, str(path), str(tmp_path / "model"))
    assert done.exit_code != 0
    assert message in " ".join(f"{done.stderr} {done.exception}".replace("│", " ").split())
    assert not (tmp_path / "model").exists()
