"""Kernel machines on a budget, on the command line."""

import re

import pytest


def test_train_predict_and_evaluate(folder, run, run_json):
    trained = run_json(
        "train", "--kind", "sparse-kernel", "-k", "8", "-c", "5", "--gamma", "0.3", "two.svm", "m"
    )
    assert trained["kind"] == "sparse-kernel"
    assert trained["basis_vectors"] == 8
    assert trained["certificate"]["status"] == "optimal"
    outcome = run("predict", "two.t.svm", "m")
    assert outcome.exit_code == 0
    assert set(outcome.stdout.split()) == {"1", "-1"}
    assert run_json("evaluate", "two.t.svm", "m")["accuracy"] > 0.85
    assert run_json("info", "m")["basis_vectors"] == 8


@pytest.mark.parametrize("basis", ["free", "training", "nystroem", "cholesky"])
def test_every_basis_of_several_classes(folder, run_json, basis):
    run_json("train", "--kind", "sparse-kernel", "-k", "30", "--basis", basis, "three.svm", "m")
    assert run_json("evaluate", "three.t.svm", "m")["accuracy"] > 0.6


def test_export_to_onnx(folder, run):
    pytest.importorskip("onnx")
    assert run("train", "--kind", "sparse-kernel", "-k", "5", "two.svm", "m").exit_code == 0
    assert run("export", "m", "m.onnx").exit_code == 0
    assert (folder / "m.onnx").stat().st_size > 0


def test_bad_values_are_one_sentence(folder, run):
    for options, message in (
        (["--kernel", "laplacian"], "pre-image method"),
        (["--basis", "training", "-k", "301"], "cannot be chosen among 300 training rows"),
        (["--gamma", "0"], "gamma must be a positive number"),
    ):
        outcome = run("train", "--kind", "sparse-kernel", *options, "two.svm", "m")
        assert outcome.exit_code == (2 if "gamma" in message else 1)
        assert message in " ".join(outcome.stderr.replace("│", " ").split())
        assert not (folder / "m").exists()
    for options in (["-k", "0"], ["--memory", "1GB"], ["--basis", "best"]):
        assert run("train", "--kind", "sparse-kernel", *options, "two.svm", "m").exit_code == 2
    outcome = run("train", "--kind", "kernel", "-k", "5", "two.svm", "m")
    assert outcome.exit_code == 2
    assert "--n-basis is for --kind sparse-kernel" in " ".join(outcome.stderr.split())


def test_both_distances_are_said_in_percent_of_the_best(folder, run, run_json):
    """On these vectors, and with any: "at most 0.27 above" was a share that read as a number."""
    options = ["--kind", "sparse-kernel", "-k", "8", "--gamma", "0.3", "two.svm"]
    said = run("train", *options, "m").stderr + run("train", *options, "m2").stdout
    found = re.search(r"8 basis vectors \(within (\S+) % of the best possible with any", said)
    assert re.search(r"within \S+ % of the best possible on these basis vectors \(", said)
    exact = run_json("train", "--kind", "kernel", "--gamma", "0.3", "two.svm", "m3")["certificate"]
    ours = run_json("train", *options, "m4")["certificate"]
    assert ours["primal"] <= exact["primal"] * (1 + 1.06 * float(found[1]) / 100)
    assert ours["primal"] > exact["primal"] * 1.001


def test_measures_are_losses_too(run, run_json, folder):
    from maxmargin import SparseKernelSVC, data

    train = data.open("two.svm")
    options = ("--kind", "sparse-kernel", "-k", "8", "--gamma", "0.3")
    for measure, more in (("f1", {}), ("precision_at_k", {"k": 20}), ("fbeta", {"beta": 2.0})):
        typed = [word for name, value in more.items() for word in (f"--{name}", str(value))]
        told = run_json("train", *options, "--measure", measure, *typed, "two.svm", "m")
        alike = SparseKernelSVC(8, gamma=0.3, loss=measure, **more).fit(train.X, train.y)
        assert told["certificate"]["primal"] == pytest.approx(alike.certificate_.primal)
    search = ("--kind", "sparse-kernel", "-k", "8", "--measure", "roc_auc", "--Cs", "0.1,1")
    told = run_json("cv", *search, "-v", "3", "two.svm")
    assert told["scoring"] == "roc_auc"
    for typed, sentence in (
        (["--k", "3"], "--k is for measures: name one by --measure"),
        (["--measure", "f1", "--k", "3"], "--k is for --measure precision_at_k or recall_at_k"),
        (["--measure", "f1", "--loss", "hinge"], "--loss is a sum over rows"),
    ):
        outcome = run("train", *options, *typed, "two.svm", "m")
        assert outcome.exit_code == 2 and sentence in " ".join(
            outcome.stderr.replace("│", " ").split()
        )
