"""Rounds by calls of workers and rounds by tasks: the same answer, whoever fails."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest

from maxmargin.distributed import LinearSVC, calls
from maxmargin.distributed.calls import CallOrTask, on_held


@pytest.mark.parametrize("solver", ["newton", "ocas"])
def test_calls_and_tasks_give_the_same_answer(client, svm, monkeypatch, solver):
    X, y = svm.blobs(600, 5, noise=1.5)
    X, y = da.from_array(X, chunks=(100, 5)).persist(), da.from_array(y, chunks=100).persist()
    fits = []
    for unseen in (1e9, -1.0):
        monkeypatch.setattr(calls, "UNSEEN", unseen)
        fits.append(LinearSVC(solver=solver, tol=1e-4, client=client).fit(X, y))
    by_calls, by_tasks = fits
    assert by_calls.n_iter_ == by_tasks.n_iter_
    np.testing.assert_allclose(by_calls.coef_, by_tasks.coef_, rtol=1e-9)


def fake_worker(data):
    return SimpleNamespace(
        address="here",
        data=data,
        state=SimpleNamespace(nthreads=3),
        executors={"default": ThreadPoolExecutor(1)},
    )


def test_a_worker_works_on_what_it_holds_and_names_the_rest():
    worker = fake_worker({"a": 1, "c": 3})
    shares = {"here": ["a", "b", "c"], "there": ["d"]}

    def work(held, threads, factor):
        return [factor * part for part in held], threads

    result, missing = asyncio.run(on_held(work, shares, 10, dask_worker=worker))
    assert (result, missing) == (([10, 30], 3), ["b"])
    worker.data.clear()
    assert asyncio.run(on_held(work, shares, 10, dask_worker=worker)) == (None, ["a", "b", "c"])


def test_long_rounds_large_rounds_and_one_now_and_then_are_tasks(monkeypatch):
    rounds = CallOrTask()
    assert rounds.may_call(bytes_each=1000, workers=2)
    assert not rounds.may_call(bytes_each=calls.MOST_BYTES, workers=2)
    rounds.note(seconds=2 * calls.SHORT, called=True)
    assert not rounds.may_call(bytes_each=1000, workers=2)
    rounds.note(seconds=0.01, called=True)
    assert rounds.may_call(bytes_each=1000, workers=2)
    monkeypatch.setattr(calls, "UNSEEN", 0.0)
    assert not rounds.may_call(bytes_each=1000, workers=2)
