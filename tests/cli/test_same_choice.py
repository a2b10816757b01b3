"""Python and the command, told nothing but the file, choose the same C: on five sets."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVCCV, data


def demo():
    train, _ = data.load_demo()
    return train.X[:1500], train.y[:1500]


def noisy(n=300, d=8, classes=2, noise=2.0, share=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    score = X @ rng.normal(size=d) + noise * rng.normal(size=n)
    cuts = [1 - share] if share else np.arange(1, classes) / classes
    return X, np.searchsorted(np.quantile(score, cuts), score)


def text():
    rng = np.random.default_rng(1)
    X = sp.random(300, 800, 0.02, format="csr", random_state=1, dtype=np.float32)
    return X, np.where(X @ rng.normal(size=800) > 0, 1, -1)


SETS = {
    "demo": demo,
    "noisy": noisy,
    "rare": lambda: noisy(share=0.08),
    "three classes": lambda: noisy(classes=3),
    "text": text,
}


@pytest.mark.parametrize("name", SETS)
def test_python_and_the_command_choose_the_same_C(run_json, tmp_path, name):
    X, y = SETS[name]()
    path = tmp_path / "rows.svm"
    data.save(data.Dataset(sp.csr_matrix(X), np.asarray(y, dtype=float)), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a best C at the end of the grid
        model = LinearSVCCV().fit(str(path))
    told = run_json("cv", str(path))
    assert told["best_C"] == model.C_
    assert told["Cs"] == model.Cs_.tolist()
    np.testing.assert_allclose(told["mean"], model.scores_.mean(axis=0), atol=2e-3)
