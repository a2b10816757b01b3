"""The shape of the package: who may import whom, and that the base install is enough."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent

# Each folder may import itself, those before it, and what stands alone.
LAYERS = ["data", "losses", "solvers", "models", "metrics", "training", "report", "estimators"]
FACES = ["estimators", "cli", "distributed"]
ALONE = ["problem", "parameters"]  # the vocabulary: everybody's, importing nobody else
CORE_USERS = {"data", "losses", "solvers", "models", "training"}


def folder_of(module):
    """'maxmargin.solvers.linear.bundle' -> 'solvers'; '' for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def module_of(path):
    parts = ("maxmargin", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path):
    """Full names of what a file imports; type-checking blocks do not run, so do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; name the module in full"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if node.module == "maxmargin" else node.module


def own_imports(path):
    return {name for name in imports_of(path) if name.split(".")[0] == "maxmargin"}


FILES = sorted(PACKAGE.rglob("*.py"))


def imports():
    """Who imports whom inside the package: modules by name, and the folders they are in."""
    for path in FILES:
        module = module_of(path)
        for name in sorted(own_imports(path)):
            yield module, folder_of(module), name, folder_of(name)


def is_one_way(home, other):
    """data -> losses -> solvers -> models -> training -> report -> estimators, cli"""
    if home == "" or other in ("", home, "_core", *ALONE):
        return True  # the package's front door opens what is asked for
    if home in ALONE:
        return False  # the vocabulary imports nobody
    if home not in LAYERS:
        return True
    return other in LAYERS and LAYERS.index(other) < LAYERS.index(home)


def is_face_allowed(home, other):
    if other not in FACES or home in ("", "__main__", other):
        return True
    return (home, other) in {
        ("cli", "estimators"),
        ("distributed", "estimators"),
        ("cli", "distributed"),
    }


@pytest.mark.parametrize("is_allowed", [is_one_way, is_face_allowed])
def test_a_folder_imports_only_what_it_may(is_allowed):
    wrong = [
        f"{who} imports {name}" for who, home, name, to in imports() if not is_allowed(home, to)
    ]
    assert wrong == []


def test_only_some_folders_touch_the_compiled_core():
    users = {home for _, home, name, _ in imports() if name == "maxmargin._core"}
    assert users == CORE_USERS


def modules():
    names = ["maxmargin"]
    for found in pkgutil.walk_packages([str(PACKAGE)], "maxmargin."):
        if found.name != "maxmargin._core":
            names.append(found.name)
    return names


def test_every_module_says_what_it_is_for():
    assert [name for name in modules() if not importlib.import_module(name).__doc__] == []


def test_every_public_name_is_documented_and_listed():
    assert sorted(maxmargin.__all__) == maxmargin.__all__
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name).__doc__, name
        assert name in dir(maxmargin)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        maxmargin.Nothing  # noqa: B018


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
"""


def run(script, blocked):
    return subprocess.run(
        [sys.executable, "-c", BLOCKED.format(blocked=blocked) + script],
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_base_install_is_enough():
    """Extras only draw, export, measure or distribute."""
    extras = ["matplotlib", "onnx", "onnxruntime", "dask", "distributed", "pandas", "liblinear"]
    script = f"""
import importlib, numpy as np
for name in {[name for name in modules() if not name.startswith("maxmargin.report.")]!r}:
    importlib.import_module(name)
import maxmargin
X = np.random.default_rng(0).normal(size=(50, 3))
maxmargin.LinearSVC().fit(X, X[:, 0] > 0).predict(X)
"""
    done = run(script, extras)
    assert done.returncode == 0, done.stderr


def test_distributed_fits_say_what_they_need_where_dask_is_missing():
    script = """
from maxmargin.distributed import LinearSVC
try:
    LinearSVC().fit(["train.svm"])
except ImportError as error:
    print(error)
"""
    done = run(script, ["dask", "distributed"])
    assert "pip install 'maxmargin[dask]'" in done.stdout, done.stderr


def test_workers_need_no_scikit_learn():
    """What a task unpickles starts quickly on a worker."""
    done = run("import maxmargin.distributed.losses", ["sklearn", "pandas", "pyarrow", "dask"])
    assert done.returncode == 0, done.stderr


def test_training_needs_no_scikit_learn():
    """The commands start quickly because nothing below the estimators imports it."""
    script = """
import numpy as np
from maxmargin.training.fit import LinearPlan
from maxmargin.training.linear import train
X = np.random.default_rng(0).normal(size=(50, 3))
for solver in ("newton", "dual", "ocas", "cpa"):
    train(X, X[:, 0] > 0, LinearPlan(solver=solver))
"""
    done = run(script, ["sklearn", "pandas", "pyarrow"])
    assert done.returncode == 0, done.stderr


def test_importing_the_package_imports_next_to_nothing():
    script = "import sys, maxmargin; sys.exit('sklearn' in sys.modules or 'scipy' in sys.modules)"
    assert run(script, []).returncode == 0
