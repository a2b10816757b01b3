"""scikit-learn's own checks of the kernel regressions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import KernelSVR, KernelSVRCV


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        KernelSVR(n_jobs=1),
        KernelSVR(loss="quantile", quantile=0.7, tol=1e-6),
        KernelSVR(loss="squared", kernel="laplacian"),
        KernelSVRCV(Cs=[0.1, 1.0], gammas=[0.1, 1.0], cv=2),
    ]
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)
