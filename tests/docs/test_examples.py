"""The documentation stays true: its code runs, its commands work, its links lead somewhere.

Of every page, the blocks run in order, those of Python in one namespace, in a folder that holds
train.svm and test.svm, the bundled data:

    ```python    executed; with >>> prompts, output is compared as doctest does
    ```console   lines "$ maxmargin ..." are run and must succeed; a line of output that begins
                 "maxmargin: " must appear on standard error, and unless it is a warning the
                 command must fail with code 1

Blocks of other kinds (``sh``, ``text``) are for reading only.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from maxmargin.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        ROOT / name
        for name in (
            "README.md",
            "ARCHITECTURE.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "SECURITY.md",
        )
    ]
    + list((ROOT / "docs").rglob("*.md"))
)
ELSEWHERE = [page for folder in ("benchmarks", "src") for page in (ROOT / folder).rglob("*.md")]
LINKED = sorted([*PAGES, ROOT / "ROADMAP.md", *ELSEWHERE])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
OF_A_SHELL = set("|&;<>$`*?~")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    from maxmargin import data

    for dataset, name in zip(data.load_demo(), ("train.svm", "test.svm")):
        data.save(dataset, tmp_path / name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_and_commands_of_a_page_run(page, folder):
    namespace: dict = {"__name__": "__main__"}
    text = page.read_text()
    for found in BLOCK.finditer(text):
        kind, block = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if kind == "python":
            run_python(block, namespace, page, line)
        elif kind == "console":
            run_console(block)


def run_python(block: str, namespace: dict, page: Path, line: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pages show fits that end early
        if ">>>" not in block:
            padded = "\n" * line + block  # so that a traceback names the line of the page
            exec(compile(padded, name_of(page), "exec"), namespace)
            return
        test = doctest.DocTestParser().get_doctest(block, namespace, name_of(page), None, line)
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        report: list[str] = []
        runner.run(test, out=report.append, clear_globs=False)
        namespace.update(test.globs)
    assert runner.failures == 0, "".join(report)


def run_console(block: str) -> None:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        code, complaint = run_command(command)
        said = [line for line in output.splitlines() if line.startswith("maxmargin: ")]
        for line in said:
            assert line in complaint, f"{command}\nsaid {complaint}"
        fails = any(not line.startswith("maxmargin: warning: ") for line in said)
        assert code == int(fails), f"{command}\nsaid {complaint}"


def run_command(command: str) -> tuple[int, str]:
    """Exit code and standard error; in this process, unless a shell is needed or another program.

    A process of its own takes longer to start than most commands take.
    """
    program, *arguments = shlex.split(command)
    if program == "maxmargin" and not OF_A_SHELL & set(command):
        outcome = CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})
        if not isinstance(outcome.exception, SystemExit | None):
            raise outcome.exception
        return outcome.exit_code, outcome.stderr
    if shutil.which(program, path=search_path()) is None:
        raise AssertionError(f"no such program: {command}")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=os.environ | {"PATH": search_path(), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stderr


def search_path() -> str:
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_of_a_page_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), f"{name_of(page)} links to {target}"
        if anchor and found.suffix == ".md":
            assert anchor[1:] in anchors(found), f"{name_of(page)} links to {target}{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors that headings of a page get on code hosts."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_linked_from_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.name == "index.md" or page.relative_to(ROOT / "docs").as_posix() in index


@pytest.mark.parametrize("page", ["README.md", "docs/site/index.rst"])
def test_the_first_example_says_what_it_finds(page):
    from maxmargin import LinearSVC, data

    train, _ = data.load_demo()
    certificate = LinearSVC(tol=1e-4).fit(train.X, train.y).certificate_
    text = (ROOT / page).read_text()
    assert "LinearSVC(tol=1e-4).fit(train.X, train.y)" in text
    objective, within = re.search(r"# objective ([\d.]+), within ([\d.]+) %", text).groups()
    assert float(objective) == pytest.approx(certificate.primal, rel=1e-3)
    assert float(within) < 0.01


def test_reference_names_everything_public():
    import maxmargin
    from maxmargin.problem import Certificate, Progress, Status

    reference = (ROOT / "docs" / "reference.md").read_text()
    names = {*maxmargin.__all__, *maxmargin.data.__all__, *maxmargin.report.__all__}
    for estimator in (name for name in maxmargin.__all__ if "SV" in name):
        names |= set(getattr(maxmargin, estimator)().get_params())
    names |= set(maxmargin.distributed.__all__)
    for estimator in (name for name in maxmargin.distributed.__all__ if "SV" in name):
        names |= set(getattr(maxmargin.distributed, estimator)().get_params())
    names |= {*Certificate.__dataclass_fields__, *Progress.__dataclass_fields__}
    names |= {str(status) for status in Status}
    missing = [name for name in sorted(names) if not re.search(rf"\b{name}\b", reference)]
    assert missing == []


def test_reference_names_every_command_and_option():
    import typer.main

    reference = (ROOT / "docs" / "reference.md").read_text()
    commands = typer.main.get_command(app).commands
    options = {o for c in commands.values() for p in c.params for o in p.opts if o[0] == "-"}
    missing = [name for name in sorted({*commands, *options}) if f"`{name}" not in reference]
    assert missing == []
