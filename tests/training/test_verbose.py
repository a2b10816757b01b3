"""What verbose fits tell: lines on standard error, and in a notebook a bar that moves."""

import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from maxmargin import KernelSVC, KernelSVCCV, LinearSVC
from maxmargin.problem import Progress
from maxmargin.training import verbose

X = np.random.default_rng(0).normal(size=(200, 4))
y = np.where(X[:, 0] > 0, 1, -1)
FITS = {
    "one fit": LinearSVC(C=10, solver="ocas", verbose=1),
    "classes": LinearSVC(solver="dual", verbose=1),
    "cells": KernelSVC(gamma=0.1, cells=50, verbose=1),
    "grid": KernelSVCCV(Cs=[0.1, 1], gammas=[0.1, 1], cv=2, verbose=1),
}


@pytest.fixture
def notebook(monkeypatch):
    """What a notebook was given to show: the first time, and each time it was changed."""
    shown: list[dict] = []

    def display(told, *, raw, display_id):
        assert raw and display_id
        shown.append(told)
        return SimpleNamespace(update=lambda told, raw: shown.append(told))

    shell, displays = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    displays.display = display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    monkeypatch.setattr(verbose, "BETWEEN_UPDATES", 0.0)
    return shown


@pytest.mark.parametrize("fit", FITS)
def test_a_notebook_shows_a_bar_that_moves(fit, notebook, capsys):
    FITS[fit].fit(X, y if fit != "classes" else np.arange(200) % 3)
    shares = [
        float(re.search(r'<progress value="(.*?)"', told["text/html"])[1]) for told in notebook
    ]
    assert len(shares) > 1 and shares[-1] == 1.0 and all(0 <= share <= 1 for share in shares)
    assert all(told["text/plain"] in told["text/html"] for told in notebook)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("fit", FITS)
def test_elsewhere_lines_are_printed(fit, monkeypatch, capsys):
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: None  # imported, but nothing runs in it
    monkeypatch.setitem(sys.modules, "IPython", shell)
    FITS[fit].fit(X, y)
    said = capsys.readouterr().err
    assert said.count("\n") > 1 and "progress" not in said


def test_a_bar_moves_no_faster_than_can_be_seen_but_to_its_end(notebook, monkeypatch):
    monkeypatch.setattr(verbose, "BETWEEN_UPDATES", 100.0)
    bar = verbose.Bar()
    for share in (0.1, 0.5, 1.0):
        bar.tell(f"<{share}>", share)
    assert [told["text/plain"] for told in notebook] == ["<0.1>", "<1.0>"]
    assert "<code>&lt;1.0&gt;</code>" in notebook[-1]["text/html"]


def test_fits_of_several_problems_are_as_far_as_they_are_on_average():
    share = verbose.ShareOfGap(1e-2)
    assert share(Progress(1, 0.0, 1.0, 0.9, problem=0, problems=2)) == pytest.approx(0.25)
    assert share(Progress(1, 0.0, 1.0, 1.0, problem=1, problems=2)) == pytest.approx(0.75)
