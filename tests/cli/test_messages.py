"""What commands say when something is wrong: options by their names, never Python's parameters."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import typer.main

import maxmargin
from maxmargin.cli.kinds import KINDS
from maxmargin.cli.main import app
from maxmargin.cli.wording import for_shell

SOURCE = Path(maxmargin.__file__).parent
PYTHON_ONLY = ("estimators", "distributed", "metrics", "data/encoding/transformer.py")
# `index=False` is pandas', `bits=24` part of a map as --features takes it, `LABEL=W` an option's.
TYPED = {"index", "bits", "LABEL", "K"}
NO_OPTION = {"working_set", "cell_overlap"}  # no command sets these
HOLE = "\N{LOZENGE}"  # where a message has a value


def parameters():
    """Names that only Python has, of all estimators."""
    machines = [getattr(maxmargin, name) for name in maxmargin.__all__]
    known = {p for m in machines if inspect.isclass(m) for p in inspect.signature(m).parameters}
    return {name for name in known if "_" in name}


PARAMETERS = re.compile(rf"(?<![-\w'])({'|'.join(sorted(parameters()))})(?![-\w'])")


def pythonisms(text, typed=()):
    """What a person at a shell has no use for, unless it is what was typed."""
    known = TYPED | set(re.findall(r"(\w+)=", " ".join(typed)))
    assigned = [name for name in re.findall(r"(\w+)=(?!=)", text) if name not in known]
    return assigned + PARAMETERS.findall(text)


def literal(node):
    """The text of an expression, with a hole for each value."""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return HOLE


def raised():
    """Every sentence that the library may raise at a command."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name.startswith(PYTHON_ONLY):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                for argument in node.exc.args[:1]:
                    yield f"{name}:{node.lineno}", literal(argument)


def test_no_sentence_of_the_library_reaches_a_shell_with_a_parameter():
    sentences = dict(raised())
    assert len(sentences) > 300
    found = {where: for_shell(text) for where, text in sentences.items()}
    faults = {where: set(pythonisms(text)) - NO_OPTION for where, text in found.items()}
    assert {where: found[where] for where, names in faults.items() if names} == {}


def test_what_has_no_option_is_set_by_no_command():
    for command in typer.main.get_command(app).commands.values():
        assert NO_OPTION.isdisjoint(option.name for option in command.options)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "name it (target=...), or none (target=False)",
            "name it (--target), or none (--target none)",
        ),
        ("fit with multi_class='ovo'", "fit with --multi-class ovo"),
        ("train it with probability=True", "train it with --probabilities"),
        ("sample_weight[3] is -1.0", "the weight of row 4 is -1.0"),
        ("train in cells (cells=2000)", "train in cells (--cells 2000)"),
        ("max_iter must be positive", "--max-iter must be positive"),
        ("data/max_iter.csv: 'max_iter' is a column", "data/max_iter.csv: 'max_iter' is a column"),
    ],
)
def test_parameters_become_options(said, expected):
    assert for_shell(said) == expected


EVERY_KIND = (
    ["--max-iter", "0"], ["--max-iter", "2.5"], ["--max-time", "0"], ["--tol", "0"],
    ["--C", "-1"], ["--C", "nan"], ["--threads", "0"], ["--dtype", "int8"], ["--target", "no such"],
    ["--drop", "no such"], ["--weight", "no such"], ["--nonsense", "1"], ["--kind", "nonsense"],
)  # fmt: skip
OWN = {
    "linear": (
        ["--loss", "squared"], ["--intercept", "free", "--bias", "2"], ["--intercept", "none"],
        ["--class-weight", "nobody=2"], ["--class-weight", "spam"], ["--class-weight", "spam=-1"],
        ["--qid", "f0"], ["--solver", "nonsense"],
        ["--seed", "-1"], ["--bias", "nan"], ["--format", "fasta"], ["--format", "parquet"],
    ),
    "regression": (
        ["--epsilon", "-1"], ["--quantile", "2", "--loss", "quantile"], ["--quantile", "x"],
        ["--loss", "hinge"], ["--quantile", "0.1,0.9", "--loss", "huber"],
        ["--delta", "0", "--loss", "huber"], ["--probabilities"], [],
    ),
    "kernel": (
        ["--gamma", "-1"], ["--gamma", "wide"], ["--kernel", "poly", "--degree", "0"],
        ["--kernel", "sigmoid"], ["--cells", "0"], ["--memory", "1KB"], ["--memory", "much"],
        ["--multi-class", "all"], ["--from-disk"], ["--bias", "1"],
    ),
    "kernel-regression": (
        ["--gamma", "-1"], ["--epsilon", "-1"], ["--quantile", "0.1,2", "--loss", "quantile"],
        ["--loss", "logistic"], ["--memory", "1KB"], ["--probabilities"], ["--solver", "dual"],
    ),
    "sparse-kernel": (
        ["-k", "0"], ["-k", "1000", "--basis", "training"], ["--kernel", "laplacian"],
        ["--basis", "nonsense"], ["--gamma", "0"],
    ),
    "sparse-kernel-regression": (
        ["-k", "0"], ["--loss", "hinge"], ["--epsilon", "-1"], ["--kernel", "laplacian"],
        ["--quantile", "0.1,0.9", "--loss", "huber"], ["--class-weight", "spam=1"], [],
    ),
    "sparse-kernel-rank": (["-k", "0"], ["--qid", "no such"], ["--gamma", "0"], []),
    "sparse-kernel-ordinal": (["--order", "bad,good"], ["--order", "spam"], ["-k", "0"]),
    "rank": (["--qid", "no such"], ["--solver", "newton"], ["--class-weight", "spam=1"], []),
    "ordinal": (["--order", "bad,good"], ["--order", "spam"], ["--solver", "dual"]),
    "measure": (
        ["--measure", "precision_at_k"], ["--measure", "precision_at_k", "--k", "0"],
        ["--measure", "recall_at_k", "--k", "2.5"], ["--measure", "fbeta", "--beta", "0"],
        ["--measure", "nonsense"], ["--seed", "1"],
    ),
    "stream": (
        ["--memory", "1KB"], ["--memory", "-1"], ["--features", "nonsense"],
        ["--features", "fourier:0"], ["--features", "pairs,x=1"], ["--checkpoint-every", "-1"],
        ["--text", "no such"], ["--solver", "ocas"], ["--checkpoint", "words.csv"],
    ),
    "stream-regression": (
        ["--memory", "1KB"], ["--loss", "hinge"], ["--quantile", "0.1,0.9", "--loss", "huber"],
        ["--checkpoint-every", "0"], ["--features", "nonsense"], ["--probabilities"],
    ),
}  # fmt: skip
BAD = [(kind, *args) for kind in KINDS for args in (*EVERY_KIND, *OWN[kind])]


@pytest.mark.parametrize("line", BAD, ids=" ".join)
def test_bad_options_are_answered_with_options(run, folder, line):
    kind, *args = line
    outcome = run("train", "words.csv", "m", "--kind", kind, *args)
    assert outcome.exit_code in (1, 2), outcome.stderr
    said = " ".join(outcome.stderr.replace("│", " ").split())
    assert pythonisms(said, args) == [] and "Traceback" not in said
    assert not (folder / "m").exists()


OTHER_COMMANDS = [
    ["predict", "words.csv", "m", "--probabilities"],
    ["predict", "words.csv", "m", "--threads", "0"],
    ["predict", "two.svm", "m"],
    ["evaluate", "words.csv", "m", "--target", "none"],
    ["cv", "words.csv", "--Cs", "0,1"],
    ["cv", "words.csv", "--Cs", "x"],
    ["cv", "words.csv", "--folds", "1"],
    ["cv", "words.csv", "--kind", "kernel", "--gammas", "-1"],
    ["cv", "words.csv", "--kind", "rank"],
    ["convert", "words.csv", "w.arrow.gz"],
    ["convert", "words.csv", "w.unknown"],
    ["convert", "two.svm", "w.arrow", "--dtype", "int8"],
    ["export", "m", "m.unknown"],
    ["export", "m", "m.liblinear"],
    ["scale", "two.svm", "s.svm", "--lower", "2", "--upper", "1"],
    ["info", "no such file"],
    ["report", "m", "two.svm"],
]


@pytest.mark.parametrize("line", OTHER_COMMANDS, ids=" ".join)
def test_other_commands_speak_of_options_too(run, folder, line):
    assert run("train", "-q", "words.csv", "m").exit_code == 0
    outcome = run(*line)
    assert outcome.exit_code in (1, 2), outcome.stderr
    said = " ".join(outcome.stderr.replace("│", " ").split())
    assert pythonisms(said) == [] and "Traceback" not in said
