"""scikit-learn's own checks of every estimator; none is expected to fail."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC, LinearSVCCV


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(solver="dual", tol=1e-10, n_jobs=1),
        LinearSVC(solver="ocas", tol=1e-8),
        LinearSVCCV(Cs=3, cv=2),
    ]
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)
