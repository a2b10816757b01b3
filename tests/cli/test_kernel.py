"""Kernel machines on the command line."""

import pytest


def test_train_predict_and_evaluate(folder, run, run_json):
    trained = run_json("train", "--kind", "kernel", "-c", "5", "--gamma", "0.3", "two.svm", "m")
    assert trained["kind"] == "kernel"
    assert trained["certificate"]["status"] == "optimal"
    assert trained["parameters"]["gamma"] == 0.3
    outcome = run("predict", "two.t.svm", "m")
    assert outcome.exit_code == 0
    assert set(outcome.stdout.split()) == {"1", "-1"}
    assert run_json("evaluate", "two.t.svm", "m")["accuracy"] > 0.85


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_every_kernel_of_several_classes(folder, run_json, kernel):
    run_json("train", "--kind", "kernel", "--kernel", kernel, "three.svm", "m")
    assert run_json("evaluate", "three.t.svm", "m")["accuracy"] > 0.6


def test_a_small_memory_trains_through_the_cache(folder, run_json):
    whole = run_json("train", "--kind", "kernel", "-e", "1e-5", "two.svm", "m")
    cached = run_json("train", "--kind", "kernel", "-e", "1e-5", "--memory", "20kB", "two.svm", "m")
    assert cached["certificate"]["primal"] == pytest.approx(
        whole["certificate"]["primal"], rel=1e-3
    )


def test_info_and_export(folder, run, run_json):
    run_json("train", "--kind", "kernel", "two.svm", "m")
    facts = run_json("info", "m")
    assert facts["kind"] == "kernel model" and facts["support_vectors"] > 0
    assert run("export", "m", "m.libsvm").exit_code == 0
    assert (folder / "m.libsvm").read_text().startswith("svm_type c_svc\nkernel_type rbf\n")


def test_cv_searches_the_grid_and_saves_the_best(folder, run, run_json):
    found = run_json(
        "cv", "--kind", "kernel", "--Cs", "3", "--gammas", "0.05,0.5", "-v", "3", "two.svm", "m"
    )
    assert len(found["Cs"]) == 3 and found["gammas"] == [0.05, 0.5]
    assert found["best_error"] < 0.2
    assert run_json("info", "m")["parameters"]["C"] == pytest.approx(found["best_C"])
    assert found["model"] == "m"


def test_cv_prints_a_map_and_draws_it(folder, run):
    outcome = run(
        "cv", "--kind", "kernel", "--Cs", "3", "--gammas", "3", "--picture", "map.svg", "two.svm"
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert "gamma \\ C" in outcome.stdout and ">" in outcome.stdout
    assert "<svg" in (folder / "map.svg").read_text()


def test_bad_values_are_one_sentence(folder, run):
    for options, message in (
        (["--gamma", "-2"], "gamma must be a positive number"),
        (["--memory", "100"], "is too small"),
        (["--memory", "lots"], "memory must be"),
    ):
        outcome = run("train", "--kind", "kernel", *options, "two.svm", "m")
        assert outcome.exit_code == (2 if "gamma" in message else 1)
        assert message in " ".join(outcome.stderr.replace("│", " ").split())
        assert not (folder / "m").exists()
    assert run("cv", "--kind", "kernel", "--gammas", "a,b", "two.svm").exit_code == 2


def test_cells_and_pairs_of_classes(folder, run, run_json):
    run_json("train", "--kind", "kernel", "--multi-class", "ovo", "three.svm", "m")
    assert run("export", "m", "m.libsvm").exit_code == 0
    ours, theirs = (run_json("evaluate", "three.t.svm", name) for name in ("m", "m.libsvm"))
    assert ours["accuracy"] == theirs["accuracy"] > 0.6
    run_json("train", "--kind", "kernel", "--cells", "50", "three.svm", "m")
    cells = run_json("info", "m")["cells"]
    assert cells > 1 and run_json("evaluate", "three.t.svm", "m")["accuracy"] > 0.6
    there = ("--from-disk", "--memory", "20MB")
    run_json("train", "--kind", "kernel", "--cells", "50", "three.svm", "there", *there)
    assert run_json("evaluate", "three.t.svm", "there")["accuracy"] > 0.6
    refused = run("train", "--kind", "kernel", "three.svm", "there", "--from-disk")
    assert refused.exit_code == 2 and "--cells" in refused.stderr
    found = run_json("cv", "--kind", "kernel", "--cells", "50", "-v", "2", "three.svm", "m")
    assert found["cells"] == cells == len(found["gammas"])
    assert run_json("evaluate", "three.t.svm", "m")["accuracy"] > 0.6


def test_regressions_in_cells_in_memory_and_from_disk(folder, run, run_json):
    kind = ("--kind", "kernel-regression", "--cells", "60", "--loss", "quantile")
    levels = ("--quantile", "0.2,0.8", "--gamma", "0.3")
    run_json("train", *kind, *levels, "two.svm", "m")
    run_json("train", *kind, *levels, "two.svm", "there", "--from-disk")
    told = run_json("info", "m")
    assert told["cells"] > 1 and "cells_of_one_class" not in told
    assert run("predict", "two.t.svm", "m").stdout == run("predict", "two.t.svm", "there").stdout
    judged = run_json("evaluate", "two.t.svm", "m", "--measures", "mean_squared_error")
    assert judged["measures"]["mean_squared_error"] > 0  # of numbers, not of classes
    found = run_json("cv", *kind, "-v", "2", "--Cs", "1,10", "--gammas", "0.3", "two.svm", "m")
    assert found["cells"] == len(found["gammas"]) and found["best_loss"] > 0
    refused = run("export", "m", "m.onnx")
    assert refused.exit_code == 1
    assert "kernel-regression-cells models cannot be written as ONNX" in refused.stderr
    assert run("train", "--kind", "kernel-regression", "two.svm", "m", "--from-disk").exit_code == 2
