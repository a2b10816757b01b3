"""SparseKernelSVC: accuracy on a budget, paths, weights, classes, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import KernelSVC, SparseKernelSVC, data, load
from maxmargin.problem import Status


def rings(classes=2, n=600, seed=0, noise=0.15):
    rng = np.random.default_rng(seed)
    radius, angle = rng.integers(classes, size=n), 2 * np.pi * rng.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + radius[:, None])
    return X + noise * rng.normal(size=X.shape), radius


def test_few_vectors_reach_the_accuracy_of_the_exact_machine():
    train, test = data.load_demo()
    exact = KernelSVC(C=1, gamma=0.05).fit(train.X, train.y)
    sparse = SparseKernelSVC(n_basis=20, C=1, gamma=0.05).fit(train.X, train.y)
    assert sparse.basis_vectors_.shape[0] == 20 < len(exact.support_) / 10
    assert sparse.score(test.X, test.y) > exact.score(test.X, test.y) - 0.02


def test_attributes_of_a_fit():
    X, y = rings()
    model = SparseKernelSVC(n_basis=10, C=10, gamma=1.0).fit(X, y)
    assert model.n_basis_ == 10
    assert model.basis_vectors_.shape == (10, 2)
    assert model.dual_coef_.shape == (1, 10)
    assert model.certificate_.status == Status.OPTIMAL
    assert model.certificate_.normalised_gap <= 1e-3
    assert 0 <= model.certificate_.gap <= model.exact_gap_
    assert model.delta_ > 0
    assert model.theorem2_bound_ >= model.certificate_.gap
    assert model.history_[-1].iteration == model.n_iter_ > 0
    assert model.gamma_ == 1.0
    assert model.score(X, y) > 0.98


def test_the_exact_gap_bounds_the_distance_to_KernelSVC():
    X, y = rings()
    sparse = SparseKernelSVC(n_basis=30, C=1, gamma=1.0).fit(X, y)
    exact = KernelSVC(C=1, gamma=1.0, stopping="plain", tol=1e-5).fit(X, y)
    excess = sparse.certificate_.primal - exact.certificate_.primal
    assert -1e-3 * sparse.certificate_.scale <= excess <= sparse.exact_gap_


def test_a_sequence_gives_a_model_of_each_size_from_one_training():
    X, y = rings()
    model = SparseKernelSVC(n_basis=[2, 4, 12], C=10, gamma=1.0).fit(X, y)
    assert [m.n_basis for m in model.path_] == [2, 4, 12]
    assert model.n_basis_ == 12
    accuracy = [np.mean(m.predict(X) == y) for m in model.path_]
    assert accuracy[-1] == model.score(X, y) > 0.98
    objectives = [m.certificate.primal for m in model.path_]
    assert objectives[0] > objectives[1] > objectives[2]
    assert np.array_equal(model.path_[0].vectors, model.basis_vectors_[:2])


@pytest.mark.parametrize("basis", ["free", "training"])
def test_several_classes_share_one_basis(basis):
    X, y = rings(3)
    names = np.array(["inner", "middle", "outer"])[y]
    model = SparseKernelSVC(n_basis=25, C=10, gamma=1.0, basis=basis).fit(X, names)
    assert model.basis_vectors_.shape == (25, 2)
    assert model.dual_coef_.shape == (3, 25)
    assert len(model.certificates_) == 3
    assert model.decision_function(X).shape == (600, 3)
    assert model.score(X, names) > 0.93


def test_weights_equal_repetition():
    X, y = rings(n=200)
    s = np.random.default_rng(0).integers(0, 4, size=200)
    known = {"n_basis": 40, "basis": "cholesky", "gamma": 1.0, "tol": 1e-5}
    weighted = SparseKernelSVC(**known).fit(X, y, sample_weight=s)
    repeated = SparseKernelSVC(**known).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-2)
    assert weighted.certificate_.scale == repeated.certificate_.scale


def test_class_weights_move_the_boundary():
    X, y = rings(noise=0.5)
    plain, heavy = (
        SparseKernelSVC(n_basis=15, gamma=1.0, class_weight=w).fit(X, y) for w in (None, {1: 20})
    )
    assert heavy.predict(X).sum() > plain.predict(X).sum()
    balanced = SparseKernelSVC(n_basis=15, gamma=1.0, class_weight="balanced").fit(X, y)
    assert balanced.certificate_.scale == pytest.approx(len(y))


@pytest.mark.parametrize("kernel", ["poly", "linear"])
def test_kernels_with_a_gradient_method(kernel):
    X, y = rings(n=400)
    y = y if kernel == "poly" else (X @ [1.0, 2.0] > 0).astype(int)
    model = SparseKernelSVC(n_basis=8, C=10, kernel=kernel, gamma=1.0, degree=2, coef0=1.0)
    model.fit(X, y)
    exact = KernelSVC(C=10, kernel=kernel, gamma=1.0, degree=2, coef0=1.0).fit(X, y)
    assert model.score(X, y) > 0.97
    # So few dimensions are spanned by so few vectors.
    assert model.certificate_.primal <= exact.certificate_.primal * 1.02
    assert model.n_basis_ <= (6 if kernel == "poly" else 2)


def test_save_and_load(tmp_path):
    X, y = rings()
    model = SparseKernelSVC(n_basis=[3, 8], C=10, gamma=1.0, random_state=3).fit(X, y)
    model.save(tmp_path / "m")
    back = load(tmp_path / "m")
    assert isinstance(back, SparseKernelSVC)
    assert np.array_equal(back.decision_function(X), model.decision_function(X))
    assert back.get_params()["n_basis"] == 8
    assert back.certificate_ == model.certificate_
    assert back.delta_ == model.delta_


def test_seeds_repeat_and_differ():
    X, y = rings()
    first, again, other = (
        SparseKernelSVC(n_basis=5, gamma=1.0, random_state=seed, residual_rows=100).fit(X, y)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first.basis_vectors_, again.basis_vectors_)
    assert not np.array_equal(first.basis_vectors_, other.basis_vectors_)


def test_a_callback_ends_the_fit_with_the_model_so_far():
    X, y = rings()
    model = SparseKernelSVC(n_basis=50, gamma=1.0, callback=lambda p: p.iteration >= 4)
    with pytest.warns(ConvergenceWarning, match="callback asked to stop"):
        model.fit(X, y)
    assert 1 <= model.n_basis_ < 50
    assert model.predict(X).shape == y.shape
    assert model.exact_gap_ >= model.certificate_.gap


def test_no_time_at_all_still_gives_a_model(tmp_path):
    X, y = rings(n=20000)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = SparseKernelSVC(n_basis=500, gamma=1.0, max_time=1e-6).fit(X, y)
    assert model.predict(X[:5]).shape == (5,)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").n_basis_ == model.n_basis_


def test_csr_and_dense_rows_predict_the_same():
    train, test = data.load_demo()
    model = SparseKernelSVC(n_basis=10, gamma=0.05).fit(train.X, train.y)
    sparse, dense = model.decision_function(test.X), model.decision_function(test.X.toarray())
    assert sp.issparse(test.X)
    assert np.allclose(sparse, dense, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_basis": 0}, "n_basis must be a whole number >= 1"),
        ({"n_basis": 2.5}, "n_basis must be"),
        ({"n_basis": []}, "n_basis must be"),
        ({"n_basis": [5, 5]}, "increasing sequence"),
        ({"n_basis": [5, 3]}, "increasing sequence"),
        ({"n_basis": 61, "basis": "training"}, "61 vectors cannot be chosen among 60"),
        ({"n_basis": 61, "basis": "nystroem"}, "at most 60"),
        ({"basis": "best"}, "basis must be one of free"),
        ({"kernel": "laplacian"}, "pre-image method"),
        ({"kernel": "precomputed"}, "kernel must be one of"),
        ({"kernel": np.dot}, "kernel must be one of"),
        ({"C": 0}, "C must be a positive number"),
        ({"tol": -1}, "tol must be"),
        ({"gamma": 0}, "gamma must be"),
        ({"residual_rows": 0}, "residual_rows must be"),
        ({"starts": 1.5}, "starts must be"),
        ({"restarts": 0}, "restarts must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"class_weight": "even"}, "class_weight"),
    ],
)
def test_bad_parameters_are_refused_with_what_was_found(parameters, message):
    X, y = rings(n=60)
    with pytest.raises(ValueError, match=message):
        SparseKernelSVC(**({"n_basis": 5} | parameters)).fit(X, y)


def test_constant_data_gives_the_right_answer():
    X, y = np.full((30, 2), 3.0), np.array([0] * 20 + [1] * 10)
    model = SparseKernelSVC(n_basis=5).fit(X, y)
    assert model.n_basis_ == 1
    assert np.all(model.predict(X) == 0)
    for nothing in (np.zeros((30, 2)), sp.csr_matrix((30, 2)), sp.csr_matrix((30, 500))):
        assert np.all(SparseKernelSVC(n_basis=5).fit(nothing, y).predict(nothing) == 0)


def test_rows_that_a_kernel_maps_to_zero_leave_no_basis():
    y = np.array([0] * 20 + [1] * 10)
    model = SparseKernelSVC(n_basis=5, kernel="linear").fit(np.zeros((30, 2)), y)
    assert model.n_basis_ == 0
    assert model.certificate_.status == Status.OPTIMAL
    assert model.certificate_.primal == 30
    assert np.all(model.decision_function(np.ones((3, 2))) == 0)


def test_a_training_basis_may_take_every_row():
    X, y = rings(n=60)
    model = SparseKernelSVC(n_basis=60, basis="training", gamma=5.0).fit(X, y)
    assert 50 <= model.n_basis_ <= 60


def test_kernel_values_that_overflow_are_refused():
    X, y = np.array([[7e46], [2e46]]), [1, 0]
    with pytest.raises(ValueError, match="overflow"):
        SparseKernelSVC(n_basis=2, kernel="poly", degree=4, gamma=1.0).fit(X, y)
