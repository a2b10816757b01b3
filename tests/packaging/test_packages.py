"""What is shipped: the source distribution is complete, and fits can run side by side."""

import tarfile
import tomllib
from pathlib import Path

import pytest

from tests.packaging import installed
from tests.packaging.extras import packages_of

ROOT = Path(__file__).parents[2]


def test_eight_fits_at_once_give_the_bits_they_give_alone():
    installed.eight_fits_at_once()


def test_the_source_distribution_is_complete(tmp_path, monkeypatch):
    build = pytest.importorskip("scikit_build_core.build", reason="needs scikit-build-core")
    if not (ROOT / ".git").exists():
        pytest.skip("files that are not the project's are told by git")
    monkeypatch.chdir(ROOT)
    name = build.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        shipped = {path.partition("/")[2] for path in archive.getnames()}
        size = sum(member.size for member in archive.getmembers())
    needed = {"pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "Makefile"}
    for folder in ("core", "bindings", "src", "tests"):
        for path in (ROOT / folder).rglob("*"):
            hidden = "__pycache__" in path.parts or path.suffix in (".so", ".pyc")
            if path.is_file() and not hidden:
                needed.add(path.relative_to(ROOT).as_posix())
    assert sorted(needed - shipped) == []
    assert not [path for path in shipped if path.startswith((".venv", "build/", "dist/"))]
    assert size < 20e6


def test_packages_of_an_extra_include_those_of_extras_it_names():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = settings["optional-dependencies"]
    found = packages_of("dev", known)
    assert {*known["report"], *known["dask"], *known["notebooks"][1:], known["test"][1]} <= {*found}
    assert not [name for name in found if name.startswith("maxmargin")]
    assert len({*found}) == len(found)


def test_wheels_are_built_for_the_pythons_that_are_supported():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    built = settings["tool"]["cibuildwheel"]["build"]
    assert settings["project"]["requires-python"] == ">=3.11"
    assert settings["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    assert {"cp311-*", "cp312-*"} <= set(built) and any("t-" in one for one in built)
    script = settings["tool"]["cibuildwheel"]["test-command"].partition("{project}/")[2]
    assert (ROOT / script).exists()
