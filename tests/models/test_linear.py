import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.models import LinearModel


@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csr_array, sp.csc_matrix]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["binary", "multiclass"])
def test_scores_equal_the_product_for_every_form_of_rows(name, form, dtype, X, request):
    model = request.getfixturevalue(name)
    X = X.astype(dtype)
    expected = np.squeeze(X.astype(np.float64) @ model.coef.T + model.intercept)
    np.testing.assert_allclose(model.decision_function(form(X)), expected, rtol=1e-12, atol=1e-12)


def test_two_classes_predict_the_larger_label_where_positive(binary, X):
    scores = binary.decision_function(X)
    np.testing.assert_array_equal(binary.predict(X), np.where(scores > 0, 1, -1))


def test_more_classes_predict_the_largest_score(multiclass, X):
    winner = multiclass.decision_function(X).argmax(axis=1)
    np.testing.assert_array_equal(multiclass.predict(X), multiclass.classes[winner])


def test_scores_do_not_depend_on_threads(multiclass):
    X = np.random.default_rng(3).normal(size=(5000, 5))
    np.testing.assert_array_equal(
        multiclass.decision_function(X, threads=1), multiclass.decision_function(X, threads=3)
    )


def test_wrong_number_of_features_is_named(binary):
    with pytest.raises(ValueError, match=r"\(3, 4\).*trained on 5 features"):
        binary.decision_function(np.zeros((3, 4)))


def test_the_worst_certificate_speaks_for_the_model(multiclass):
    assert multiclass.certificate.relative_gap == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "coef, intercept, classes",
    [
        (np.zeros((2, 3)), np.zeros(2), [0, 1]),
        (np.zeros((1, 3)), np.zeros(1), [0, 1, 2]),
        (np.zeros((3, 3)), np.zeros(1), [0, 1, 2]),
        (np.zeros((0, 3)), np.zeros(0), [0, 1]),
        (np.zeros((1, 0)), np.zeros(1), [0, 1]),
    ],
)
def test_parts_that_do_not_fit_are_refused(coef, intercept, classes):
    with pytest.raises(ValueError):
        LinearModel(coef, intercept, np.array(classes))
