"""A stop at any call of the core: a model with a true certificate, and no exception."""

import numpy as np
import pytest

from maxmargin import SparseKernelSVC, _core
from maxmargin.problem import Status
from maxmargin.solvers.common import run

CALLS = (
    "matvec",
    "rmatvec",
    "inner",
    "axpby",
    "mean_shift",
    "kernel_columns",
    "kernel_values",
)


class Calls:
    """Counts calls of the core, and raises the stop flag before the one asked for."""

    def __init__(self, monkeypatch, at: int | None) -> None:
        self.count, self.at, self.stop = 0, at, None
        new_stop = run.Interrupts.new_stop

        def remembered(interrupts, max_time=None):
            self.stop = new_stop(interrupts, max_time)
            return self.stop

        monkeypatch.setattr(run.Interrupts, "new_stop", remembered)
        for name in CALLS:
            monkeypatch.setattr(_core, name, self.counted(getattr(_core, name)))

    def counted(self, function):
        def call(*arguments, **named):
            self.count += 1
            if self.count == self.at:
                self.stop.interrupt()
            return function(*arguments, **named)

        return call


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=120), [-0.5, 0.5])


def fit(X, y):
    model = SparseKernelSVC([2, 4], C=5.0, gamma=0.5, n_jobs=1, random_state=0)
    return model.fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_stop_at_any_call_gives_a_certified_model():
    X, y = rows()
    with pytest.MonkeyPatch.context() as patch:
        calls = Calls(patch, None)
        fit(X, y)
    last = calls.count
    assert last > 300
    statuses = set()
    for at in {*range(1, 16), *range(16, last, 97), *range(last - 15, last + 1, 3)}:
        with pytest.MonkeyPatch.context() as patch:
            Calls(patch, at)
            model = fit(X, y)
        statuses.add(model.certificate_.status)
        assert model.certificate_.gap <= model.exact_gap_ <= model.certificate_.primal + 1e-9
        assert model.delta_ >= 0 and model.theorem2_bound_ >= model.exact_gap_ * (1 - 1e-9)
        for p, certificate in enumerate(model.certificates_):
            f = model.to_model().problems(X)[:, p]
            loss = 5.0 * np.maximum(0, 1 - np.where(y == p, 1, -1) * f).sum()
            assert 0 <= certificate.dual <= certificate.primal <= 600.0
            assert loss <= certificate.primal * (1 + 1e-9)
            optimal = certificate.status == Status.OPTIMAL
            assert not optimal or certificate.relative_gap <= 1e-3
    assert statuses <= {Status.OPTIMAL, Status.INTERRUPTED}
    assert Status.INTERRUPTED in statuses
