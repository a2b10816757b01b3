"""A few changed files of every kind, the same ones each time. `make fuzz` tries many."""

import warnings

import pytest
from tests.fuzz.files import TARGETS, fuzz

from maxmargin import _core


@pytest.mark.parametrize("name", TARGETS)
def test_changed_files_load_or_are_refused(name, monkeypatch):
    monkeypatch.setattr(_core, "crc32c", lambda *_: 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fuzz(name, seconds=float("inf"), runs=40, seed=0) == 40
