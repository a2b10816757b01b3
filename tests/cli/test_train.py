import os
import re
import select
import signal
import subprocess

import numpy as np
import pytest

from maxmargin.models import load_model


def test_train_writes_a_certified_model_named_after_the_data(run, folder):
    outcome = run("train", "two.svm")
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stdout == ""
    assert "two.svm.model" in outcome.stderr
    model = load_model("two.svm.model")
    assert model.certificate.relative_gap <= 1e-3
    assert model.classes.tolist() == [-1, 1]
    assert model.classes.dtype.kind == "i"
    assert model.index_base == 1


def test_train_takes_a_name_for_the_model(run, folder):
    assert run("train", "-q", "two.svm", "other").exit_code == 0
    assert sorted(os.listdir()) == sorted(
        ["other", "two.svm", "two.t.svm", "three.svm", "three.t.svm", "words.csv"]
    )


def test_quiet_says_nothing(run, folder):
    outcome = run("train", "-q", "two.svm")
    assert (outcome.stdout, outcome.stderr) == ("", "")


def test_json_tells_machines_about_the_run(run_json, folder):
    told = run_json("train", "-q", "-c", "0.5", "-e", "1e-5", "two.svm", "m")
    assert told["model"] == "m"
    assert told["rows"] == 300
    assert told["features"] == 6
    assert told["classes"] == [-1, 1]
    assert told["certificate"]["status"] == "optimal"
    assert told["certificate"]["relative_gap"] <= 1e-5
    assert told["parameters"]["C"] == 0.5


def test_the_bias_option_decides_about_the_intercept(run, folder):
    for bias, fits in [("1", True), ("2.5", True), ("0", False), ("-1", False)]:
        assert run("train", "-q", "-B", bias, "two.svm", "m").exit_code == 0
        model = load_model("m")
        assert model.parameters["fit_intercept"] == fits
        assert bool(model.intercept.any()) == fits
        if fits:
            assert model.parameters["intercept_scaling"] == float(bias)


def test_more_classes_get_a_row_and_a_certificate_each(run, folder):
    assert run("train", "-q", "three.svm", "m").exit_code == 0
    model = load_model("m")
    assert model.classes.tolist() == [3, 4, 5]
    assert model.coef.shape == (3, 6)
    assert len(model.certificates) == 3


def test_labels_may_be_words(run, folder):
    assert run("train", "-q", "words.csv", "m").exit_code == 0
    model = load_model("m")
    assert model.classes.tolist() == ["ham", "spam"]
    assert model.feature_names == tuple(f"f{j}" for j in range(6))


@pytest.mark.parametrize(
    "typed",
    [
        ("-w1", "5", "-w-1", "0.5"),
        ("-w+1", "5", "-w-1", "0.5"),
        ("--class-weight", "1=5", "--class-weight", "-1.0=0.5"),
    ],
)
def test_class_weights_the_way_liblinear_takes_them(run, folder, typed):
    assert run("train", "-q", *typed, "two.svm", "m").exit_code == 0
    assert load_model("m").parameters["class_weight"] == {1: 5.0, -1: 0.5}
    assert run("train", "-q", "two.svm", "plain").exit_code == 0
    assert not np.array_equal(load_model("m").coef, load_model("plain").coef)


def test_class_weights_by_word_and_balanced(run, folder):
    assert run("train", "-q", "-wspam", "2", "words.csv", "m").exit_code == 0
    assert load_model("m").parameters["class_weight"] == {"spam": 2.0}
    assert run("train", "-q", "--class-weight", "balanced", "words.csv", "m").exit_code == 0
    assert load_model("m").parameters["class_weight"] == "balanced"


@pytest.mark.parametrize("solver", ["auto", "dual", "ocas", "cpa", "newton"])
def test_every_solver_can_be_asked_for(run_json, folder, solver):
    told = run_json("train", "-q", "--solver", solver, "two.svm", "m")
    assert told["certificate"]["relative_gap"] <= 1e-3
    assert told["solver"] != "auto"
    if solver != "auto":
        assert told["solver"] == solver


def test_a_missed_tolerance_is_said_and_the_model_is_kept(run, folder):
    outcome = run("train", "-q", "-e", "1e-9", "--solver", "cpa", "--max-iter", "2", "two.svm", "m")
    assert outcome.exit_code == 0
    assert "iteration limit" in outcome.stderr
    assert load_model("m").certificate.status == "max_iter"


def test_the_same_seed_gives_the_same_file(run, folder):
    for name in ("a", "b"):
        run("train", "-q", "--threads", "1", "--solver", "dual", "--seed", "3", "two.svm", name)
    ours, theirs = load_model("a"), load_model("b")
    np.testing.assert_array_equal(ours.coef, theirs.coef)


def test_stdin_and_compression_give_the_same_model(program, folder):
    import gzip

    (folder / "two.gz").write_bytes(gzip.compress((folder / "two.svm").read_bytes()))
    for source, model in [("two.svm", "a"), ("two.gz", "b")]:
        assert program("train", "--threads", "1", source, model).returncode == 0
    with open("two.svm", "rb") as stdin:
        assert program("train", "--threads", "1", "-", "c", stdin=stdin).returncode == 0
    np.testing.assert_array_equal(load_model("a").coef, load_model("b").coef)
    np.testing.assert_array_equal(load_model("a").coef, load_model("c").coef)


@pytest.mark.parametrize(
    "args, message",
    [
        (["none.svm"], "none.svm"),
        (["two.svm", "nowhere/m"], "nowhere"),
        (["two.svm", "."], "folder"),
        (["-w7", "2", "two.svm"], "'7'.*-1, 1"),
        (["--target", "none", "bare.csv"], "no labels"),
        (["bad.svm"], "bad.svm.*2"),
        (["one.svm"], "class"),
        (["empty.svm"], "empty.svm"),
    ],
)
def test_failures_are_one_sentence_and_leave_nothing(run, folder, args, message):
    (folder / "bad.svm").write_text("1 1:2\n1 1:x\n")
    (folder / "one.svm").write_text("1 1:2\n1 1:3\n")
    (folder / "empty.svm").write_text("")
    (folder / "bare.csv").write_text("a,b\n1,2\n3,4\n")
    before = sorted(os.listdir())
    outcome = run("train", *args)
    assert outcome.exit_code == 1
    assert outcome.stdout == ""
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("maxmargin: ")
    assert re.search(message, lines[0])
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["-"],
        ["--solver", "magic", "two.svm"],
        ["--kind", "magic", "two.svm"],
        ["--unknown", "two.svm"],
        ["-w1"],
        ["-w1", "two.svm", "two.svm"],
        ["--class-weight", "1", "two.svm"],
        ["--class-weight", "1=-2", "two.svm"],
        ["--threads", "0", "two.svm"],
        ["-c", "x", "two.svm"],
    ],
)
def test_wrong_usage_exits_with_2(run, folder, args):
    outcome = run("train", *args)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""


def test_nothing_moves_on_stderr_when_it_is_no_terminal(program, folder):
    outcome = program("train", "two.svm", "m")
    assert outcome.returncode == 0
    assert outcome.stdout == b""
    assert b"\r" not in outcome.stderr
    assert b"iteration " not in outcome.stderr


def interrupt_when(shown, command, insist=False, **options):
    """Ctrl-C as soon as a text is on the terminal; the exit code and all that was shown there.

    Python misses a signal that arrives just before it waits for input, so a user would `insist`.
    """
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, **options)
    os.close(theirs)
    seen, sent = b"", False
    while True:
        quiet = not select.select([ours], [], [], 2.0)[0]
        try:
            seen += b"" if quiet else os.read(ours, 4096)
        except OSError:  # the other end was closed
            break
        if shown in seen and (not sent or (insist and quiet)):
            process.send_signal(signal.SIGINT)
            sent = True
    os.close(ours)
    return process.wait(timeout=300), seen.decode()


def test_ctrl_c_during_a_fit_saves_the_best_model_so_far(program, folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 60))
    y = np.sign(X @ rng.normal(size=60) + 5 * rng.normal(size=3000)).astype(int)
    rows = (" ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(row)) for row in X)
    (folder / "hard.svm").write_text("".join(f"{s} {row}\n" for s, row in zip(y, rows)))
    # CPA at a C this large would run for minutes.
    command = program.command("train", "--solver", "cpa", "-c", 1000, "-e", 1e-9, "hard.svm", "m")
    code, shown = interrupt_when(b"  gap ", command)
    assert code == 0, shown
    assert "interrupted: the best model so far is saved" in shown
    certificate = load_model("m").certificate
    assert certificate.status == "interrupted"
    assert certificate.dual <= certificate.primal


def test_ctrl_c_before_the_fit_fails_and_leaves_nothing(program, folder):
    command = program.command("train", "-", "m")
    code, shown = interrupt_when(b"reading", command, insist=True, stdin=subprocess.PIPE)
    assert code == 1
    assert "maxmargin: interrupted; nothing was written" in shown
    assert not os.path.exists("m")


def test_a_killed_program_leaves_no_model(program, folder):
    process = subprocess.Popen(
        program.command("train", "-", "m"), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write(b"1 1:1\n")
    process.stdin.flush()
    process.kill()
    process.communicate(timeout=300)
    assert not os.path.exists("m")
