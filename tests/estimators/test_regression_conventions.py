"""scikit-learn's own checks of the regressions, and of classifiers by other losses."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import LinearSVC, LinearSVR, LinearSVRCV


@parametrize_with_checks(
    [
        LinearSVR(),
        LinearSVR(loss="quantile", quantile=0.7, tol=1e-8),
        LinearSVR(loss="huber", tol=1e-8),
        LinearSVRCV(Cs=3, cv=2),
        LinearSVC(loss="logistic", tol=1e-8),
        LinearSVC(loss="squared_hinge", tol=1e-8),
    ]
)
def test_scikit_learn_convention(estimator, check):
    check(estimator)
