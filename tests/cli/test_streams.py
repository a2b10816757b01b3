"""Standard streams that are closed, full or left, and text that would command a terminal."""

import os
import shlex
import subprocess
import sys

import pytest

from maxmargin.cli.console import json_line, print_error, printable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="devices as on Linux")
RED = "\x1b[31mred"


@pytest.fixture
def shell(program, folder):
    """Runs a command of a shell in which {name} stands for the command `name` of the program."""

    def shell(text):
        text = text.replace("maxmargin", shlex.join(program.command()))
        return subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=300)

    return shell


@pytest.fixture
def trained(run, folder):
    assert run("train", "-q", "two.svm", "m.model").exit_code == 0


@pytest.mark.parametrize(
    ("where", "found"), [(">&-", "it is closed"), ("> /dev/full", "No space left on device")]
)
@pytest.mark.parametrize("command", ["predict -q two.t.svm m.model", "info m.model", "--version"])
def test_output_that_cannot_be_written_is_one_sentence(shell, trained, command, where, found):
    outcome = shell(f"maxmargin {command} {where}")
    assert outcome.returncode == 1
    assert outcome.stderr == f"maxmargin: standard output: cannot be written: {found}\n"


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full", ">&- 2>&- <&-"])
def test_messages_that_nobody_can_read_stop_nothing(shell, folder, where):
    outcome = shell(f"maxmargin train two.svm m.model {where}")
    assert outcome.returncode == 0
    assert outcome.stderr == ""
    assert os.path.getsize("m.model") > 0
    assert shell(f"maxmargin train missing.svm {where}").returncode == 1


def test_a_reader_that_leaves_ends_a_command_in_silence(shell, trained):
    outcome = shell("maxmargin info two.svm --json | true; exit ${PIPESTATUS[0]}")
    assert (outcome.returncode, outcome.stderr) == (1, "")


def test_closed_input_is_one_sentence(shell, folder):
    outcome = shell("maxmargin train - m.model <&-")
    assert outcome.returncode == 1
    assert outcome.stderr == "maxmargin: standard input: cannot be read: Bad file descriptor\n"


def test_labels_and_names_do_not_command_a_terminal(run, folder):
    rows = "".join(f"{RED},{x}\ngreen,{x + 9}\n" for x in range(3))
    (folder / f"{RED}.csv").write_text(f"label,x\n{rows}")
    train = run("train", f"{RED}.csv", f"{RED}.model")
    assert train.exit_code == 0
    said = [train, run("info", f"{RED}.csv"), run("info", f"{RED}.model", "--json")]
    said += [run("evaluate", f"{RED}.csv", f"{RED}.model"), run("info", f"{RED}.none")]
    said += [run("export", f"{RED}.model", RED), run("train", f"--{RED}")]
    for outcome in said:
        assert "\x1b" not in outcome.output
        assert "red" in outcome.output
    # Predictions that go elsewhere are what they are.
    assert run("predict", "-q", f"{RED}.csv", f"{RED}.model").stdout.count(RED) == 3


def test_control_characters_become_visible():
    assert printable("a\tb\n") == "a\tb\n"
    assert printable("\x1b]0;\x07\x9b\x7f\r\udcff") == r"\x1b]0;\x07\x9b\x7f\x0d\xff"
    assert json_line("\x9b\x1b\x7f") == '"\\u009b\\u001b\\u007f"\n'


def test_too_little_memory_is_a_sentence_that_says_what_to_do(capsys):
    print_error(MemoryError())
    assert capsys.readouterr().err.startswith(
        "maxmargin: there is not enough memory for this: use fewer rows"
    )
