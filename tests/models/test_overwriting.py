"""`save` replaces models and nothing else."""

import numpy as np
import pytest

import maxmargin
from maxmargin.models import save


@pytest.fixture
def fitted():
    return maxmargin.LinearSVC().fit(np.eye(4), [0, 1, 0, 1])


def test_a_model_replaces_a_model_or_an_empty_file(fitted, tmp_path):
    path = tmp_path / "m"
    path.touch()
    for _ in range(2):
        fitted.save(path)
    assert maxmargin.load(path).n_features_in_ == 4


def test_other_files_are_kept_unless_told_otherwise(fitted, tmp_path):
    path = tmp_path / "train.svm"
    path.write_text("1 1:1\n")
    for write in (fitted.save, lambda path: save(fitted, path)):
        with pytest.raises(ValueError, match=r"train\.svm: exists and does not hold .*overwrite="):
            write(path)
    assert path.read_text() == "1 1:1\n"
    fitted.save(path, overwrite=True)
    assert maxmargin.load(path).n_features_in_ == 4
