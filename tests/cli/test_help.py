"""What help says: examples first, what all kinds share, one box per kind."""

import re
import subprocess
import sys

import pytest
import typer.main

from maxmargin.cli.kinds import KINDS
from maxmargin.cli.main import app

COMMANDS = typer.main.get_command(app).commands


@pytest.fixture
def shown(monkeypatch, run):
    """Help of a command at 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")

    def shown(*args):
        outcome = run(*args, "--help")
        assert outcome.exit_code == 0, outcome.stderr
        return outcome.stdout

    return shown


def test_help_of_train_fits_a_screen(shown):
    lines = shown("train").splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100


def test_help_of_train_has_a_box_for_every_kind(shown):
    text = shown("train")
    for kind, entry in KINDS.items():
        if entry.beside:
            assert f", {kind.removeprefix(entry.beside)}" in text
            continue
        others = [name for name, other in KINDS.items() if other.beside == kind]
        kind += "".join(", " + name.removeprefix(kind) for name in others)
        box = re.search(rf"─ --kind {kind}: (.*?)(├|╰)", text, re.DOTALL).group(1)
        for option in entry.options:
            if option in COMMANDS["train"].options:
                assert option.flags.split()[-1] in box


@pytest.mark.parametrize("kind", KINDS)
def test_help_of_a_kind_shows_its_options_and_no_others(shown, kind):
    for text in (shown("train", "--kind", kind), shown("train", f"--kind={kind}")):
        assert "╭" not in text
        assert f"--kind {kind}" in text.split("Examples:")[1].split("Arguments:")[0]
        for other in KINDS.values():
            for option in other.options:
                if option in COMMANDS["train"].options:
                    typed = re.search(rf"^  .*{option.flags.split()[-1]}\b", text, re.MULTILINE)
                    assert bool(typed) == KINDS[kind].takes(option.name), option.flags
        for option in ("--C", "--tol", "--target", "--json", "--help"):
            assert option in text


def test_help_of_a_kind_names_the_solvers_it_has(shown):
    assert "auto, ocas, cpa. [auto]" in shown("train", "--kind", "rank")
    assert "newton" in shown("train", "--kind", "linear")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_each_option_and_begins_with_examples(shown, name):
    text = shown(name)
    assert "<" not in text and "[[" not in text
    assert max(map(len, text.splitlines())) <= 100
    for option in COMMANDS[name].options:
        assert option.flags.split()[-1].split("/")[0] in text
    if COMMANDS[name].examples:
        assert text.index("Examples:") < text.index("Arguments:")


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_commands_that_parse(name):
    command = COMMANDS[name]
    examples = list(command.examples)
    for kind in KINDS.values():
        examples += kind.examples("train") if name == "train" else []
    for typed, _ in examples:
        words = typed.split()
        assert words[0] == name
        command.make_context(name, words[1:]).close()


def test_the_module_runs_as_the_command():
    outcome = subprocess.run(
        [sys.executable, "-m", "maxmargin", "--version"], capture_output=True, timeout=300
    )
    assert outcome.stdout.startswith(b"maxmargin ")


def test_shells_can_complete(run):
    assert "--show-completion" in run("--help").stdout
    environment = {"_MAXMARGIN_COMPLETE": "complete_bash", "COMP_WORDS": "maxmargin train --ki"}
    outcome = subprocess.run(
        [sys.executable, "-m", "maxmargin"],
        env={**environment, "COMP_CWORD": "2"},
        capture_output=True,
        timeout=300,
    )
    assert outcome.stdout.split() == [b"--kind"]


def test_help_of_the_program_lists_its_commands_without_types(shown, run):
    text = shown()
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert "<" not in text and "[" not in text
    outcome = run()
    assert outcome.exit_code == 2 and outcome.stderr == text
