"""Files have one subject, functions fit a screen: limits that say when to split."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_LINES, MOST_OF_FUNCTION = 350, 60
# Larger ones, which must not grow: split them by subject when you work on them.
LARGER = {
    "core/linear/dual_descent.cpp": 375,
    "core/linear/reduced_qp.cpp": 355,
    "src/maxmargin/data/stream/table_sources.py": 354,
}
PYTHON = sorted((ROOT / "src").rglob("*.py"))
CPP = sorted(path for path in (ROOT / "core").rglob("*.[ch]pp"))


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PYTHON + CPP, ids=name)
def test_a_file_has_at_most_350_lines(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LARGER.get(name(path), MOST_LINES)


def code_of(function):
    """Lines of a function without its decorators and docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


@pytest.mark.parametrize("path", PYTHON, ids=name)
def test_a_python_function_has_at_most_60_lines(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [
        n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    long = {function.name: code_of(function) for function in functions}
    assert {key: lines for key, lines in long.items() if lines > MOST_OF_FUNCTION} == {}


@pytest.mark.parametrize("path", CPP, ids=name)
def test_a_cpp_function_has_at_most_60_lines(path):
    """By the indentation of clang-format: a body ends with the brace below its beginning."""
    lines, open_at = path.read_text(encoding="utf-8").splitlines(), {}
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if re.match(r"\s*\}", line) and indent in open_at:
            assert number - open_at.pop(indent) < MOST_OF_FUNCTION, f"ends at line {number + 1}"
        if (
            re.search(r"\)( const)?( noexcept)?( override)?( -> [\w:<>]+)? \{$", line)
            and indent <= 2
        ):
            open_at[indent] = number
