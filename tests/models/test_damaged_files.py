"""Files that are whole and say what cannot be: a sentence that names the file, and never a hang."""

import contextlib
import itertools
import json

import numpy as np
import pytest
from tests.models import damage

import maxmargin
from maxmargin.models import load_model


def rows_for(kind):
    if kind == "strings":
        return ["ab", "ba"]
    return np.ones((5, 24)) if kind == "precomputed" else damage.rows()[0][:5]


@pytest.mark.parametrize("kind", damage.KINDS)
@pytest.mark.filterwarnings("ignore")
def test_every_damage_is_refused_by_name_or_does_no_harm(kind, tmp_path):
    path, X = tmp_path / "damaged.model", rows_for(kind)
    damage.fitted(kind).save(path)
    tensors, header = damage.read(path)
    headers = ((how, tensors, changed) for how, changed in damage.damaged_headers(header))
    arrays = ((how, changed, header) for how, changed in damage.damaged_tensors(tensors))
    refused = 0
    for how, these, said in itertools.chain(headers, arrays):
        damage.write(path, these, said)
        try:
            estimator = maxmargin.load(path)
        except ValueError as error:
            refused += 1
            assert str(path) in str(error), how
            continue
        except Exception as error:
            pytest.fail(f"{how}: {error!r}")
        if "'parameters'" in how or "'certificates'" in how:
            continue  # predictions do not look at them
        # X may rightly be refused: other columns than the file says.
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):
            estimator.predict(X)
    assert refused > 50


@pytest.mark.parametrize("kind", ["linear", "kernel", "rank", "stream"])
def test_files_decide_nothing_about_resources(kind, tmp_path):
    path, X = tmp_path / "m", rows_for(kind)
    damage.fitted(kind).save(path)
    tensors, header = damage.read(path)
    asked = {"n_jobs": 10**9, "memory": "1EB", "max_time": 1e9, "verbose": 9, "checkpoint": "/x"}
    asked |= {"checkpoint_every": 0.0, "alpha_file": "/y"}
    assert not asked.keys() & header["content"]["parameters"].keys()
    header["content"]["parameters"] |= asked
    damage.write(path, tensors, header)
    estimator = maxmargin.load(path)
    fresh = type(estimator)().get_params()
    given = estimator.get_params()
    assert {name: given[name] for name in asked.keys() & fresh.keys()} == {
        name: fresh[name] for name in asked.keys() & fresh.keys()
    }
    assert not asked.keys() & load_model(path).parameters.keys()
    estimator.predict(X)


def test_a_key_said_twice_is_refused(tmp_path):
    path = tmp_path / "m"
    damage.fitted("rank").save(path)
    tensors, header = damage.read(path)
    text = json.dumps(header)
    damage.write(path, tensors, text[:-1] + ', "kind": "linear"}')
    with pytest.raises(ValueError, match=r"m: its metadata says 'kind' twice"):
        load_model(path)


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / "m"
    damage.fitted("rank").save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="cannot load"):
            load_model(path)
