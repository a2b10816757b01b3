"""scikit-learn's own checks of an estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import StreamSVC


@parametrize_with_checks([StreamSVC(tol=1e-10), StreamSVC(tol=1e-10, memory="200KB")])
def test_follows_the_conventions(estimator, check):
    check(estimator)
