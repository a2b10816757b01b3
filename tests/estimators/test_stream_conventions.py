"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import StreamSVC


@parametrize_with_checks([StreamSVC(), StreamSVC(memory="200KB", fit_intercept=False)])
def test_follows_the_conventions(estimator, check):
    check(estimator)
