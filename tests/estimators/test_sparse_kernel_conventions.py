"""scikit-learn's own checks of SparseKernelSVC."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.estimators.sparse_kernel import SparseKernelSVC

ANOTHER_BASIS = (
    "repeated rows lead to other random samples, hence to another basis; "
    "test_weights_equal_repetition compares the optima on one basis"
)


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": ANOTHER_BASIS,
        "check_sample_weight_equivalence_on_sparse_data": ANOTHER_BASIS,
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        SparseKernelSVC(n_basis=20, n_jobs=1),
        SparseKernelSVC(n_basis=[2, 5], kernel="poly", coef0=1),
    ],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks(estimator, check):
    check(estimator)
