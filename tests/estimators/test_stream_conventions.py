"""scikit-learn's own checks of estimators on streams."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import StreamSVC, StreamSVCCV, StreamSVR


@parametrize_with_checks(
    [
        StreamSVC(tol=1e-10),
        StreamSVC(tol=1e-10, memory="200KB"),
        StreamSVC(loss="squared_hinge", tol=1e-15, max_iter=1000),
        # Scores are as exact as the square root of the gap, and the check asks for 1e-7 of them.
        StreamSVC(loss="logistic", C=0.01, tol=1e-15, max_iter=1000),
        StreamSVR(tol=1e-15, max_iter=1000),
        StreamSVR(loss="huber", tol=1e-15, max_iter=1000, memory="200KB"),
        StreamSVCCV([0.1, 1.0], cv=2, tol=1e-10),
    ]
)
def test_follows_the_conventions(estimator, check):
    check(estimator)
