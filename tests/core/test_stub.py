"""The signatures of the compiled core that type checkers read are those it has."""

import ast
from pathlib import Path

import pytest

import maxmargin
from maxmargin import _core

STUB = Path(maxmargin.__file__).with_name("_core.pyi")


def members(names):
    return {name for name in names if not name.startswith("_")}


def defined(body):
    """The public names that statements of a stub define."""
    names = set()
    for statement in body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.AnnAssign):
            names.add(statement.target.id)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets}
    return members(names)


@pytest.fixture(scope="module")
def stub():
    return ast.parse(STUB.read_text())


def test_the_stub_names_what_the_core_has(stub):
    assert defined(stub.body) == members(vars(_core)), "run `make stub`"


def test_the_stub_names_the_members_of_every_class(stub):
    for written in (item for item in stub.body if isinstance(item, ast.ClassDef)):
        compiled = getattr(_core, written.name)
        assert defined(written.body) == members(vars(compiled)), f"{written.name}: run `make stub`"


def arguments(function):
    every = function.args
    names = [argument.arg for argument in (*every.posonlyargs, *every.args, *every.kwonlyargs)]
    return tuple(name for name in names if name != "self")


def test_the_stub_has_the_arguments_of_every_function(stub):
    for written in (item for item in stub.body if isinstance(item, ast.FunctionDef)):
        compiled = getattr(_core, written.name)
        signatures = [signature[0] for signature in compiled.__nb_signature__]
        found = {arguments(ast.parse(text + ": ...").body[0]) for text in map(plain, signatures)}
        assert arguments(written) in found, f"{written.name}: run `make stub`"


def plain(signature):
    """Without types, which nanobind writes in a form that is not Python."""
    head, inner = signature.split("(", 1)
    depth, names, current = 0, [], ""
    for letter in inner:
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            if depth == 0:
                break
            depth -= 1
        if letter == "," and depth == 0:
            names.append(current)
            current = ""
        else:
            current += letter
    names.append(current)
    return f"{head}({', '.join(name.split(':')[0].strip() for name in names if name.strip())})"
