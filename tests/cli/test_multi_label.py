"""Models of several labels a row are made and used in Python: commands say so."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import LinearSVC, data


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_commands_send_models_of_several_labels_to_python(command, run, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    LinearSVC().fit(X, (X[:, :2] > 0).astype(int)).save(tmp_path / "labels.model")
    data.save(data.Dataset(X, np.where(X[:, 0] > 0, 1, -1)), tmp_path / "rows.svm")
    said = run(command, tmp_path / "rows.svm", tmp_path / "labels.model")
    assert said.exit_code == 1
    assert "multi-label model is not for commands" in said.stderr
