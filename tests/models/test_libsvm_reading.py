"""LIBSVM's kernel models read, and written again."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from maxmargin import KernelSVC, load
from maxmargin.models import load_model
from maxmargin.models.libsvm_text import write

IRIS = load_iris(return_X_y=True)
MOONS = make_moons(120, noise=0.2, random_state=0)


@pytest.mark.parametrize("rows", [MOONS, IRIS], ids=["two", "three"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_models_written_are_read_again(tmp_path, rows, kernel):
    X, y = rows
    model = KernelSVC(kernel=kernel, gamma=0.5, coef0=1.0, multi_class="ovo").fit(X, y)
    model.export_libsvm(tmp_path / "m.libsvm")
    again = load_model(tmp_path / "m.libsvm")
    assert np.array_equal(again.classes, model.classes_)
    assert np.allclose(again.decision_function(X), model.decision_function(X), atol=1e-9)
    assert np.array_equal(load(tmp_path / "m.libsvm").predict(X), model.predict(X))


# Classes out of order and offsets, as LIBSVM writes them.
THEIRS = """svm_type c_svc
kernel_type linear
nr_class 3
total_sv 4
rho 0.25 -0.5 0.125
label 7 2 5
nr_sv 1 2 1
SV
1 0.5 1:1 2:2
-1 0.25 1:3
-0.5 0.5 2:-1
-0.75 -0.5 1:0.5 2:0.5
"""


def test_offsets_and_classes_in_any_order(tmp_path):
    (tmp_path / "m").write_text(THEIRS)
    model = load_model(tmp_path / "m")
    x = np.array([[0.3, -0.7], [2.0, 1.0], [-1.0, 3.0]])
    z = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, -1.0], [0.5, 0.5]])
    k = x @ z.T
    f72 = k[:, 0] * 1 + k[:, 1] * -1 + k[:, 2] * -0.5 - 0.25
    f75 = k[:, 0] * 0.5 + k[:, 3] * -0.75 + 0.5
    f25 = k[:, 1] * 0.25 + k[:, 2] * 0.5 + k[:, 3] * -0.5 - 0.125
    assert np.allclose(model.problems(x), np.column_stack([f25, -f72, -f75]))
    votes = {7: (f72 > 0) * 1 + (f75 > 0), 2: (f72 <= 0) * 1 + (f25 > 0)}
    votes[5] = (f75 <= 0) * 1 + (f25 <= 0)
    for i, label in enumerate(model.predict(x)):
        assert votes[label][i] == max(v[i] for v in votes.values())
    write(model, tmp_path / "again")
    assert np.allclose(load_model(tmp_path / "again").problems(x), model.problems(x))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("c_svc", "epsilon_svr"), "expected c_svc"),
        (("linear", "sigmoid"), "kernel_type is sigmoid"),
        (("total_sv 4", "total_sv 5"), "not total_sv = 5"),
        (("nr_sv 1 2 1", "nr_sv 1 2 2"), "do not add up"),
        (("label 7 2 5", "label 7 7 5"), "different numbers"),
        (("rho 0.25 -0.5 0.125\n", ""), "'rho' is missing"),
        (("1:1 2:2", "2:1 1:2"), "numbered from 1 and grow"),
        (("1:1 2:2", "1:nan"), "NaN or infinity"),
        (("SV\n1", "X\n1"), "before SV"),
        (("linear", "polynomial\ndegree 5270374435"), "below 2.31; got 5270374435"),
    ],
)
def test_damaged_models_are_refused(tmp_path, change, message):
    (tmp_path / "m").write_text(THEIRS.replace(*change))
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "m")
