"""scikit-learn's callbacks, where it has them."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.problem import Status

scoring = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks")
X, y = load_iris(return_X_y=True)


class Recorder:
    """Notes what it is told, and ends the fit after some moments."""

    def __init__(self, most=np.inf):
        self.told, self.most = [], most

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X, metadata):
        if context.task_name == "fit":
            self.told.append(("begin", X is not None, sorted(metadata)))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.told.append((context.task_name, fitted_estimator is not None))
        return self.told.count(("iteration", False)) >= self.most


MACHINES = [
    mm.LinearSVC(),
    mm.LinearSVR(),
    mm.KernelSVC(gamma=0.1),
    mm.SparseKernelSVC(n_basis=3, gamma=0.1),
    mm.StreamSVC(),
    mm.OrdinalSVC(),
    mm.RankSVM(),
    mm.LinearSVCCV(Cs=[0.1, 1], cv=2),
]


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)
@pytest.mark.filterwarnings("ignore:.*was tried")
def test_a_fit_tells_how_it_goes_on_and_what_it_became(machine):
    recorder = Recorder()
    machine = clone(machine).set_callbacks(recorder).fit(X, y, sample_weight=np.ones(len(y)))
    told = recorder.told
    assert told[:2] == ["setup", ("begin", True, ["sample_weight"])]
    assert told[-2:] == [("fit", True), "teardown"]
    assert told.count(("iteration", False)) >= len(machine.history_) > 0


def test_a_callback_that_returns_true_ends_the_fit():
    machine = mm.LinearSVC(tol=1e-9, C=10.0).set_callbacks(Recorder(most=2))
    with pytest.warns(ConvergenceWarning) as caught:
        machine.fit(X, y > 0)
    assert machine.certificate_.status is Status.CALLBACK
    assert caught[0].filename == __file__


def test_our_own_callback_is_heard_beside():
    seen = []
    recorder = Recorder()
    mm.LinearSVC(callback=seen.append).set_callbacks(recorder).fit(X, y > 0)
    assert len(seen) == recorder.told.count(("iteration", False)) > 0


def test_the_fitted_estimator_of_a_callback_predicts():
    found = []

    class Keep(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            found.append(fitted_estimator)

    machine = mm.LinearSVC().set_callbacks(Keep()).fit(X, y)
    assert (found[-1].predict(X) == machine.predict(X)).all()


def test_callbacks_end_with_the_fit_that_failed():
    recorder = Recorder()
    with pytest.raises(ValueError, match="C"):
        mm.LinearSVC(C=-1).set_callbacks(recorder).fit(X, y)
    assert recorder.told[0] == "setup" and recorder.told[-1] == "teardown"


def test_searches_and_pipelines_pass_their_callbacks_on():
    bar = scoring.ProgressBar()
    search = GridSearchCV(mm.LinearSVC(), {"C": [0.1, 1.0]}, cv=2).set_callbacks(bar).fit(X, y)
    pipeline = make_pipeline(StandardScaler(), mm.LinearSVC()).set_callbacks(bar).fit(X, y)
    assert search.score(X, y) > 0.8 and pipeline.score(X, y) > 0.8


def test_an_estimator_without_callbacks_is_pickled_as_before():
    machine = mm.LinearSVC().fit(X, y)
    assert not [name for name in vars(machine) if "callback" in name and name != "callback"]
    assert (pickle.loads(pickle.dumps(machine)).predict(X) == machine.predict(X)).all()
