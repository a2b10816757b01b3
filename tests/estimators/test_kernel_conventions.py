"""scikit-learn's own checks of the kernel estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin.estimators.kernel import KernelSVC, KernelSVCCV


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@parametrize_with_checks(
    [
        KernelSVC(n_jobs=1),
        KernelSVC(kernel="laplacian", multi_class="ovo", n_jobs=2),
        KernelSVCCV(Cs=3, gammas=2, cv=3, n_jobs=2),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)
