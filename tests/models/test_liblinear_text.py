import dataclasses

import numpy as np
import pytest

from maxmargin.models import liblinear_text, load_model

liblinear = pytest.importorskip("liblinear.liblinearutil")


def liblinear_labels(path, X):
    """What LIBLINEAR itself predicts with the model file."""
    model = liblinear.load_model(str(path))
    labels, _, _ = liblinear.predict([], X, model, "-q")
    return np.array(labels)


@pytest.mark.parametrize("name", ["binary", "multiclass"])
@pytest.mark.parametrize("with_intercept", [True, False])
def test_liblinear_predicts_the_same_labels(name, with_intercept, request, X, tmp_path):
    model = request.getfixturevalue(name)
    if not with_intercept:
        model = dataclasses.replace(model, intercept=np.zeros_like(model.intercept))
    liblinear_text.write(model, tmp_path / "m")
    np.testing.assert_array_equal(liblinear_labels(tmp_path / "m", X), model.predict(X))


@pytest.mark.parametrize("name", ["binary", "multiclass"])
def test_what_was_written_reads_back(name, request, tmp_path):
    model = request.getfixturevalue(name)
    liblinear_text.write(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.coef, model.coef)
    np.testing.assert_allclose(again.intercept, model.intercept, rtol=1e-15)
    np.testing.assert_array_equal(again.classes, model.classes)


@pytest.mark.parametrize("solver", [0, 1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("labels", [[-1, 1], [1, -1], [3, 1, 2]])
@pytest.mark.parametrize("bias", [-1, 0.5])
def test_models_trained_by_liblinear_predict_the_same_here(solver, labels, bias, X, tmp_path):
    y = np.array(labels)[np.arange(len(X)) % len(labels)]
    X = X + y[:, None] * np.linspace(-0.5, 0.5, X.shape[1])
    trained = liblinear.train(y.astype(float), X, f"-s {solver} -B {bias} -q")
    liblinear.save_model(str(tmp_path / "m"), trained)
    model = load_model(tmp_path / "m")
    np.testing.assert_array_equal(model.predict(X), liblinear_labels(tmp_path / "m", X))


def test_whole_float_labels_are_written_as_integers(binary, tmp_path):
    liblinear_text.write(dataclasses.replace(binary, classes=np.array([-1.0, 1.0])), tmp_path / "m")
    assert "label 1 -1\n" in (tmp_path / "m").read_text()


@pytest.mark.parametrize("classes", [["a", "b"], [0.5, 1.5], [0, 2**40]])
def test_labels_liblinear_cannot_hold_are_refused(binary, classes, tmp_path):
    with pytest.raises(ValueError, match="integer labels"):
        liblinear_text.write(dataclasses.replace(binary, classes=np.array(classes)), tmp_path / "m")
    assert not (tmp_path / "m").exists()


GOOD = (
    "solver_type L2R_L1LOSS_SVC_DUAL\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias -1\nw\n0.5 \n1 \n"
)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVR", "line 1.*classifier"),
        ("nr_class 2", "nr_class 3", "2 labels for 3 classes"),
        ("nr_class 2", "nr_class x", "line 2.*whole number"),
        ("label 1 -1", "label 1 1", "line 3.*different"),
        ("nr_feature 2", "nr_feature 999999999999", "promises"),
        ("nr_feature 2", "nr_feature " + "9" * 5000, "line 4"),
        ("nr_feature 2", "nr_feature -5", "line 4"),
        ("nr_feature 2\n", "", "no 'nr_feature'"),
        ("bias -1", "bias nan", "line 5.*finite"),
        ("bias -1", "bais -1", "line 5.*no field"),
        ("0.5", "half", "line 7.*numbers"),
        ("0.5", "inf", "line 7.*finite"),
        ("0.5", "0.5 0.5", "line 7: 2 weights, expected 1"),
        ("1 \n", "", "line 8: 0 weights"),
        ("1 \n", "1 \n2 \n", "line 9: more lines"),
        ("w\n0.5 \n1 \n", "", "cut short"),
    ],
)
def test_damaged_models_name_the_line(old, new, message, tmp_path):
    path = tmp_path / "m"
    path.write_text(GOOD)
    load_model(path)
    head, _, tail = GOOD.rpartition(old) if old == "1 \n" else GOOD.partition(old)
    path.write_text(head + new + tail)
    with pytest.raises(ValueError, match=message) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("classes", [2, 3])
def test_liblinear_gives_the_same_probabilities(classes, X, tmp_path):
    from maxmargin import LinearSVC

    y = np.argmax(X[:, :classes], axis=1)
    ours = LinearSVC(probability="sigmoid").fit(X, y)
    liblinear_text.write(ours.to_model(), tmp_path / "m")
    model = liblinear.load_model(str(tmp_path / "m"))
    labels, _, P = liblinear.predict([], X, model, "-q -b 1")
    order = np.argsort(model.get_labels())
    np.testing.assert_allclose(np.array(P)[:, order], ours.predict_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(labels, ours.predict(X))
    again = load_model(tmp_path / "m")
    np.testing.assert_allclose(again.probabilities(X), ours.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_an_isotonic_calibration_is_refused(X, tmp_path):
    from maxmargin import LinearSVC

    model = LinearSVC(probability="isotonic").fit(X, np.where(X[:, 0] > 0, 1, -1))
    with pytest.raises(ValueError, match="no isotonic calibration"):
        liblinear_text.write(model.to_model(), tmp_path / "m")
