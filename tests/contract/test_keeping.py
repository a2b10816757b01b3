"""What is kept of a fit is the fit: saved and loaded, pickled, cloned."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin

from .machines import MACHINES, scores_of

KEPT = ("C", "tol", "class_weight", "kernel", "degree", "coef0", "measure", "order", "multi_class")
RESOURCES = ("n_jobs", "memory", "max_time", "verbose", "callback")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_saved_model_is_the_model(machine, tmp_path):
    given = MACHINES[machine].rows()
    model = MACHINES[machine].fit()
    model.save(tmp_path / "kept.model")
    loaded = maxmargin.load(tmp_path / "kept.model")
    np.testing.assert_array_equal(scores_of(loaded, given.X), scores_of(model, given.X))
    np.testing.assert_array_equal(loaded.predict(given.X), model.predict(given.X))
    assert loaded.certificate_.as_dict() == model.certificate_.as_dict()
    assert loaded.n_features_in_ == model.n_features_in_
    assert loaded.history_ == []
    parameters = model.get_params()
    for name in KEPT:
        if name in parameters and name in loaded.get_params():
            assert loaded.get_params()[name] == parameters[name], name


@pytest.mark.parametrize("machine", MACHINES)
def test_no_resource_settings_come_from_a_file(machine, tmp_path):
    parameters = {"n_jobs": 3, "verbose": 0}
    model = MACHINES[machine].fit(**parameters)
    model.save(tmp_path / "kept.model")
    loaded = maxmargin.load(tmp_path / "kept.model")
    fresh = type(loaded)().get_params()
    for name in RESOURCES:
        if name in fresh:
            assert loaded.get_params()[name] == fresh[name], name


@pytest.mark.parametrize("machine", MACHINES)
def test_equal_fits_make_equal_files(machine, tmp_path):
    deterministic = {"deterministic": True} if MACHINES[machine].takes("deterministic") else {}
    for name in ("one", "two"):
        model = MACHINES[machine].fit(**deterministic)
        kept = model.to_model()
        maxmargin.models.save(without_seconds(kept), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def without_seconds(model):
    from dataclasses import replace

    certificates = tuple(replace(c, seconds=0.0) for c in model.certificates)
    return replace(model, certificates=certificates)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_pickled_estimator_predicts_the_same(machine):
    given = MACHINES[machine].rows()
    model = MACHINES[machine].fit()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores_of(again, given.X), scores_of(model, given.X))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_clone_has_the_parameters_and_no_fit(machine):
    model = MACHINES[machine].fit()
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "certificate_")
