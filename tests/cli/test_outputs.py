"""No command writes over what is not its own kind of output, unless told to."""

import os
import shutil

import pytest


@pytest.fixture
def trained(run, folder):
    assert run("train", "-q", "two.svm", "m.model").exit_code == 0
    shutil.copy("m.model", "copy.model")
    return folder


# Commands whose last argument is the file they write.
COMMANDS = {
    "train": ["train", "-q", "two.svm"],
    "kernel": ["train", "-q", "--kind", "kernel", "two.svm"],
    "cv": ["cv", "-q", "--Cs", "1", "-v", "2", "two.svm"],
    "predict": ["predict", "-q", "two.t.svm", "m.model"],
    "scores": ["predict", "-q", "--scores", "two.t.svm", "m.model"],
    "store": ["convert", "two.svm"],
    "liblinear": ["export", "m.model"],
}
ENDINGS = {"store": "out.arrow", "liblinear": "out.liblinear"}


def named(command):
    return ENDINGS.get(command, "out")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "theirs", [b"1 1:2\n-1 2:1\n", b"label,x\n1,2\n", b"\x89PNG\r\n", b"PK\3\4"]
)
def test_a_file_of_another_kind_is_kept_unless_forced(run, trained, command, theirs):
    out = trained / named(command)
    out.write_bytes(theirs)
    outcome = run(*COMMANDS[command], out)
    assert outcome.exit_code == 1
    assert f"{out}: exists and does not hold" in outcome.stderr
    assert "--force" in outcome.stderr
    assert out.read_bytes() == theirs
    outcome = run(*COMMANDS[command], out, "--force")
    assert outcome.exit_code == 0, outcome.stderr
    assert out.read_bytes() != theirs


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("empty", [False, True])
def test_the_same_command_may_be_run_again(run, trained, command, empty):
    out = trained / named(command)
    if empty:
        out.touch()
    for _ in range(2):
        outcome = run(*COMMANDS[command], out)
        assert outcome.exit_code == 0, outcome.stderr


@pytest.mark.parametrize("out", ["o.svm", "o.csv", "o.parquet", "o.svm.gz"])
def test_converted_data_could_be_anyones(run, folder, out):
    assert run("convert", "two.svm", out).exit_code == 0
    first = (folder / out).read_bytes()
    outcome = run("convert", "three.svm", out)
    assert outcome.exit_code == 1
    assert "--force" in outcome.stderr
    assert (folder / out).read_bytes() == first
    assert run("convert", "three.svm", out, "--force").exit_code == 0
    assert (folder / out).read_bytes() != first


@pytest.mark.parametrize("kind", ["same", "other path", "hard link", "link"])
def test_no_command_writes_over_what_it_reads(run, trained, kind):
    whole = (trained / "two.svm").read_bytes()
    name = {"same": "two.svm", "other path": f"../{trained.name}/two.svm"}.get(kind, "again")
    if kind == "hard link":
        os.link("two.svm", name)
    if kind == "link":
        os.symlink("two.svm", name)
    for command in (["train", "-q", "two.svm"], ["predict", "two.svm", "m.model"]):
        outcome = run(*command, name)
        assert outcome.exit_code == 1
        assert f"{name}: is read by this command too" in outcome.stderr
    assert (trained / "two.svm").read_bytes() == whole
    assert run("predict", "two.t.svm", "m.model", "m.model").exit_code == 1


def test_a_link_elsewhere_is_not_written_through_unless_forced(run, trained):
    os.symlink("copy.model", "link")
    before = (trained / "copy.model").read_bytes()
    outcome = run("train", "-q", "three.svm", "link")
    assert outcome.exit_code == 1
    assert "link: is a link to " in outcome.stderr
    assert (trained / "copy.model").read_bytes() == before
    assert run("train", "-q", "three.svm", "link", "--force").exit_code == 0
    assert os.path.islink("link")
    assert (trained / "copy.model").read_bytes() != before


def test_other_names_of_a_replaced_file_keep_what_they_have(run, trained):
    os.link("copy.model", "other.model")
    before = (trained / "other.model").read_bytes()
    assert run("train", "-q", "three.svm", "copy.model").exit_code == 0
    assert (trained / "other.model").read_bytes() == before
    assert (trained / "copy.model").read_bytes() != before


def test_folders_and_missing_folders_are_named_before_the_work(run, trained):
    for out, found in [("sub", "is a folder"), ("no/out", "does not exist"), ("m.model/x", "not")]:
        os.makedirs("sub", exist_ok=True)
        for command in ("train", "predict", "cv"):
            outcome = run(*COMMANDS[command], out, "--force")
            assert outcome.exit_code == 1
            assert f"{out}: " in outcome.stderr
            assert found in outcome.stderr


def test_two_outputs_need_two_names(run, folder):
    outcome = run("train", "--kind", "stream", "two.svm", "out", "--checkpoint", "./out")
    assert outcome.exit_code == 1
    assert "named for two outputs" in outcome.stderr
    assert not os.path.exists("out")


def test_a_checkpoint_is_not_written_over_data(run, folder):
    whole = (folder / "three.svm").read_bytes()
    outcome = run("train", "--kind", "stream", "two.svm", "--checkpoint", "three.svm")
    assert outcome.exit_code == 1
    assert "three.svm: exists and does not hold a checkpoint" in outcome.stderr
    assert (folder / "three.svm").read_bytes() == whole


def test_pictures_replace_pictures_of_ours_only(run, folder):
    pytest.importorskip("matplotlib")
    grid = ["cv", "-q", "--kind", "kernel", "--Cs", "1", "--gammas", "1", "-v", "2", "two.svm"]
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"holiday" * 100)
    outcome = run(*grid, "--picture", "photo.png")
    assert outcome.exit_code == 1
    assert "photo.png: exists and does not hold a picture by maxmargin" in outcome.stderr
    for _ in range(2):
        outcome = run(*grid, "--picture", "grid.png")
        assert outcome.exit_code == 0, outcome.stderr


def test_predictions_of_words_and_of_ranks_are_known_again(run, folder):
    assert run("train", "-q", "words.csv", "words.model").exit_code == 0
    assert run("train", "-q", "--kind", "rank", "three.svm", "rank.model").exit_code == 0
    for test, model in [("words.csv", "words.model"), ("three.t.svm", "rank.model")]:
        for _ in range(2):
            assert run("predict", "-q", test, model, f"{model}.txt").exit_code == 0
    for model in ("words.model", "rank.model"):  # three.svm has spaces and colons, words commas
        for data in ("words.csv", "three.svm"):
            assert run("predict", "-q", "two.t.svm", model, data).exit_code == 1


def test_devices_are_written_to(run, trained):
    assert run("predict", "-q", "two.t.svm", "m.model", "/dev/null").exit_code == 0
