"""The same answer by every door: estimator, command, Dask."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import maxmargin
from maxmargin.cli import kinds
from maxmargin.cli.main import app

from .machines import (
    KINDS,
    MACHINES,
    ON_CLUSTERS,
    classes,
    grades,
    scores_of,
    write_svmlight,
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_trains_the_machine_of_the_estimator(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    machine = KINDS[kind]
    given = machine.rows()
    write_svmlight(tmp_path / "rows.svm", given)
    args = ["train", "rows.svm", "out.model", "--kind", kind, "--tol", "1e-5", *machine.options]
    outcome = CliRunner().invoke(app, [*args, "--dtype", "float64", "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    told = json.loads(outcome.stdout)["certificate"]
    mine = machine.fit(tol=1e-5)
    assert told["primal"] == pytest.approx(mine.certificate_.primal, rel=machine.agreement)
    loaded = maxmargin.load("out.model")
    assert type(loaded) is type(mine)
    if machine.agreement < 1e-3:
        np.testing.assert_allclose(scores_of(loaded, given.X), scores_of(mine, given.X), atol=0.1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kinds.KINDS[kind].takes("from_disk")])
def test_a_command_trains_the_same_machine_from_disk(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    machine = KINDS[kind]
    write_svmlight(tmp_path / "rows.svm", machine.rows())
    args = ["train", "rows.svm", "out.model", "--kind", kind, "--tol", "1e-5", *machine.options]
    for option, value in machine.elsewhere.items():
        args += [f"--{option}", str(value)]
    outcome = CliRunner().invoke(app, [*args, "--dtype", "float64", "--json", "--from-disk"])
    assert outcome.exit_code == 0, outcome.stderr
    told = json.loads(outcome.stdout)["certificate"]
    assert told["primal"] == pytest.approx(machine.fit(tol=1e-5).certificate_.primal, rel=2e-5)


@pytest.mark.parametrize("name", ON_CLUSTERS)
def test_a_cluster_trains_the_machine_of_the_estimator(name):
    distributed = pytest.importorskip("distributed", reason="the extra [dask] is not installed")
    import dask.array as da

    from maxmargin import distributed as clusters

    machine = MACHINES[name]
    given = machine.rows()
    mine = machine.fit(tol=1e-5)
    parameters = mine.get_params() | machine.elsewhere
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        theirs = getattr(clusters, name)(**parameters, client=client)
        parts = {key: da.from_array(value, chunks=30) for key, value in given.more.items()}
        theirs.fit(
            da.from_array(given.X, chunks=(30, -1)), da.from_array(given.y, chunks=30), **parts
        )
        lazy = theirs.predict(da.from_array(given.X, chunks=(30, -1))).compute()
    assert theirs.certificate_.primal == pytest.approx(mine.certificate_.primal, rel=2e-5)
    assert theirs.certificate_.relative_gap <= 1e-5
    np.testing.assert_allclose(lazy, theirs.predict(given.X))


@pytest.mark.parametrize("name", MACHINES)
def test_a_dask_array_given_to_a_local_estimator_is_sent_to_the_cluster_class(name):
    da = pytest.importorskip("dask.array", reason="the extra [dask] is not installed")
    given = MACHINES[name].rows()
    X = da.from_array(given.X, chunks=(30, -1))
    with pytest.raises(TypeError, match=r"X is a dask array; .*(maxmargin\.distributed|compute)"):
        MACHINES[name].make().fit(X, given.y, **given.more)


def test_options_that_a_cluster_cannot_honour_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_svmlight(tmp_path / "rows.svm", classes())
    args = ["train", "rows.svm", "out.model", "--scheduler", "tcp://127.0.0.1:1", "--from-disk"]
    outcome = CliRunner().invoke(app, args)
    assert outcome.exit_code == 2
    assert "--from-disk" in outcome.stderr


def test_three_classes_by_every_classifier_agree_on_what_is_easy():
    rows = grades()
    easy = rows.X * 0.05
    easy[:, 0] = rows.y - 1.0
    easy[:, 1] = (rows.y == 1) * 1.0
    for name in ("LinearSVC", "MeasureSVC", "KernelSVC", "StreamSVC", "SparseKernelSVC"):
        model = MACHINES[name].make(C=100.0).fit(easy, rows.y)
        assert model.score(easy, rows.y) == 1.0, name
