import json
import subprocess
import sys

import pytest

SLOW = ("pyarrow", "pandas", "sklearn", "matplotlib", "onnx", "scipy.stats", "scipy.linalg")


TRAIN = "from maxmargin.cli.main import app; app(['train', 'two.svm'], standalone_mode=False)"


@pytest.mark.parametrize(
    ("code", "slow"),
    [
        ("import maxmargin", SLOW),
        ("import maxmargin.cli.main", SLOW),
        ("import maxmargin.data, maxmargin.models, maxmargin.report", SLOW),
        (TRAIN, (*SLOW, "maxmargin.report", "maxmargin.models.kernel")),
    ],
)
def test_starting_imports_nothing_slow(folder, code, slow):
    code += f"\nimport sys, json; print(json.dumps([m for m in {slow} if m in sys.modules]))"
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=300)
    assert json.loads(outcome.stdout) == [], outcome.stderr


def test_help_needs_no_numpy(program):
    outcome = program("--help")
    assert outcome.returncode == 0
    for command in ("train", "predict", "evaluate", "cv", "convert", "export", "info", "demo"):
        assert command in outcome.stdout.decode()


def test_version(run):
    import maxmargin

    assert run("--version").stdout == f"maxmargin {maxmargin.__version__}\n"


def test_public_names_are_found_and_others_are_not():
    import maxmargin

    assert "load" in dir(maxmargin)
    assert maxmargin.data.open
    with pytest.raises(AttributeError, match="nothing"):
        maxmargin.nothing  # noqa: B018
