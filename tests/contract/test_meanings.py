"""The same parameter means the same in every estimator."""

import signal
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin.problem import Status

from .machines import MACHINES, Rows, scores_of, taking

FITS = [name for name in MACHINES if not name.endswith("CV")]


def scores(model, rows: Rows) -> np.ndarray:
    return np.asarray(scores_of(model, rows.X))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_certificate_within_tol_and_called_optimal(machine):
    model = MACHINES[machine].fit(tol=1e-2)
    certificate = model.certificate_
    assert certificate.status is Status.OPTIMAL
    assert 0 <= certificate.relative_gap <= 1e-2
    assert certificate.primal >= certificate.dual
    assert model.n_iter_ == max(c.n_iter for c in model.certificates_)
    assert model.history_ is not None


@pytest.mark.parametrize("machine", MACHINES)
def test_the_answer_does_not_depend_on_threads(machine):
    rows = MACHINES[machine].rows()
    one = MACHINES[machine].fit(n_jobs=1, **seeded(machine))
    three = MACHINES[machine].fit(n_jobs=3, **seeded(machine))
    np.testing.assert_array_equal(scores(one, rows), scores(three, rows))


@pytest.mark.parametrize("machine", taking("random_state"))
def test_the_same_seed_gives_the_same_answer_and_no_global_state_is_touched(machine):
    rows = MACHINES[machine].rows()
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = scores(MACHINES[machine].fit(**seeded(machine, 3)), rows)
    again = scores(MACHINES[machine].fit(**seeded(machine, 3)), rows)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def seeded(machine: str, seed: int = 0) -> dict:
    """A stream is a function of its seed only where that is asked for."""
    taken = MACHINES[machine].takes
    parameters = {"random_state": seed} if taken("random_state") else {}
    return parameters | ({"deterministic": True} if taken("deterministic") else {})


@pytest.mark.parametrize("machine", FITS)
def test_verbose_prints_lines_of_one_form_to_standard_error(machine, capsys):
    MACHINES[machine].fit(verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines
    assert all(line.startswith("iteration ") and "relative gap" in line for line in lines)


@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_is_printed_unless_asked_for(machine, capsys):
    MACHINES[machine].fit()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("machine", FITS)
def test_a_callback_that_returns_true_ends_the_fit_with_a_model(machine):
    seen = []

    def callback(progress):
        seen.append(progress)
        return True

    with pytest.warns(ConvergenceWarning, match="the callback asked to stop"):
        model = MACHINES[machine].fit(tol=1e-12, C=100.0, callback=callback)
    assert model.certificate_.status is Status.CALLBACK
    assert len(seen) == 1
    assert seen[0].primal >= seen[0].dual


@pytest.mark.parametrize("machine", FITS)
def test_max_iter_ends_the_fit_with_the_best_model_so_far(machine):
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = MACHINES[machine].fit(tol=1e-12, C=1000.0, max_iter=1)
    assert model.certificate_.status is Status.MAX_ITER
    assert model.certificate_.primal >= model.certificate_.dual


@pytest.mark.parametrize("machine", MACHINES)
def test_max_time_ends_the_fit_with_the_best_model_so_far(machine):
    parameters = {} if machine.endswith("CV") else {"C": 1000.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MACHINES[machine].fit(tol=1e-15, max_time=1e-9, **parameters)
    certificate = model.certificate_
    assert certificate.status in (Status.MAX_TIME, Status.OPTIMAL)
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    assert certificate.primal >= certificate.dual
    assert np.isfinite(scores(model, MACHINES[machine].rows())).all()


@pytest.mark.parametrize("machine", FITS)
@pytest.mark.skipif(sys.platform == "win32", reason="signals are raised differently there")
def test_ctrl_c_ends_the_fit_with_the_best_model_so_far(machine):
    def press(progress):
        signal.raise_signal(signal.SIGINT)

    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = MACHINES[machine].fit(tol=1e-12, C=1000.0, callback=press)
    assert model.certificate_.status is Status.INTERRUPTED
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("machine", taking("warm_start"))
def test_a_warm_start_begins_at_the_last_answer(machine):
    given = MACHINES[machine].rows()
    model = MACHINES[machine].make(warm_start=True, tol=1e-4)
    first = model.fit(given.X, given.y, **given.more).certificate_
    again = model.fit(given.X, given.y, **given.more)
    assert again.history_[0].primal <= first.primal * (1 + 1e-3)
    assert again.certificate_.n_iter <= first.n_iter


@pytest.mark.parametrize("machine", MACHINES)
def test_a_weight_of_two_is_the_row_twice(machine):
    if machine.endswith("CV") or machine.startswith("SparseKernel"):
        pytest.skip("folds, and the basis, are drawn from the rows as they are given")
    rows = MACHINES[machine].rows()
    weight = np.where(np.arange(len(rows.y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(rows.y)), weight.astype(int))
    weighted = Rows(rows.X, rows.y, rows.more | {"sample_weight": weight})
    repeated = Rows(rows.X[twice], rows.y[twice], {k: v[twice] for k, v in rows.more.items()})
    one = MACHINES[machine].fit(weighted, tol=1e-6).certificate_
    two = MACHINES[machine].fit(repeated, tol=1e-6).certificate_
    assert one.primal == pytest.approx(two.primal, rel=3e-6)
