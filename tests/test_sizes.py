"""Files have one subject, functions fit a screen: limits that say when to split."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST_LINES, MOST_OF_FUNCTION = 350, 60
# Larger ones, which must not grow: split them by subject when you work on them.
LARGER = {
    "core/linear/dual_descent.cpp": 357,
    "core/linear/reduced_qp.cpp": 355,
}
PYTHON = sorted((ROOT / "src").rglob("*.py"))
CPP = sorted(path for path in (ROOT / "core").rglob("*.[ch]pp"))


def name(path):
    return str(path.relative_to(ROOT))


def text(path):
    return path.read_text(encoding="utf-8")


def test_files_have_at_most_350_lines():
    lines = {name(path): len(text(path).splitlines()) for path in PYTHON + CPP}
    assert {f: n for f, n in lines.items() if n > LARGER.get(f, MOST_LINES)} == {}


def code_of(function):
    """Lines of a function without its decorators and docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def python_functions(path):
    """Their names and lengths."""
    for node in ast.walk(ast.parse(text(path))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, code_of(node)


def cpp_functions(path):
    """Their last lines and lengths, by the indentation of clang-format: a body ends with the brace
    below its beginning."""
    open_at = {}
    for number, line in enumerate(text(path).splitlines()):
        indent = len(line) - len(line.lstrip())
        if re.match(r"\s*\}", line) and indent in open_at:
            yield number + 1, number - open_at.pop(indent) + 1
        opens = re.search(r"\)( const)?( noexcept)?( override)?( -> [\w:<>]+)? \{$", line)
        if opens and indent <= 2:
            open_at[indent] = number


@pytest.mark.parametrize(
    ("paths", "functions"), [(PYTHON, python_functions), (CPP, cpp_functions)], ids=["py", "cpp"]
)
def test_functions_have_at_most_60_lines(paths, functions):
    long = [
        f"{name(path)}, {where}: {lines} lines"
        for path in paths
        for where, lines in functions(path)
        if lines > MOST_OF_FUNCTION
    ]
    assert long == []
