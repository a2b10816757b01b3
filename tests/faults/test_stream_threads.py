"""The reader and the trainer: an error of either ends both, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from maxmargin import StreamSVC
from maxmargin.data import ArraySource
from maxmargin.data.errors import DataError

CHILD = """
import resource, sys, threading, time
import numpy as np
from maxmargin import StreamSVC
from maxmargin.data import ArraySource
"""


def readers():
    return [t for t in threading.enumerate() if t.name == "maxmargin reader"]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not readers()


def source(svm, kind=ArraySource, n=3000):
    X, y = svm.blobs(n, 20)
    return kind(X, y, block_bytes=1 << 14)


class Failing(ArraySource):
    """Whose disk fails in the third pass."""

    passes = 0

    def blocks(self):
        self.passes += 1
        for k, block in enumerate(super().blocks()):
            if self.passes == 3 and k == 5:
                raise OSError(5, "Input/output error")
            yield block


def test_an_error_of_the_reader_reaches_the_caller(svm):
    with pytest.raises(OSError, match="Input/output error"):
        StreamSVC(tol=1e-9, memory=300_000).fit(source(svm, Failing))


def test_an_error_of_the_trainer_ends_the_reader(svm):
    def callback(progress):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        StreamSVC(tol=1e-9, memory=300_000, callback=callback).fit(source(svm))


class Shorter(ArraySource):
    """Rows that vanish between two passes."""

    passes = 0

    def blocks(self):
        self.passes += 1
        blocks = list(super().blocks())
        yield from blocks if self.passes < 4 else blocks[:-1]


def test_rows_that_vanish_are_noticed(svm):
    with pytest.raises(DataError, match=r"a pass found .* rows; expected"):
        StreamSVC(tol=1e-9, memory=300_000).fit(source(svm, Shorter))


class Changed(ArraySource):
    looks = 0

    def check_unchanged(self):
        self.looks += 1
        if self.looks > 2:
            raise DataError("rows.svm: has changed since it was opened")


def test_a_file_that_changes_is_noticed(svm):
    with pytest.raises(DataError, match="has changed"):
        StreamSVC(tol=1e-9, memory=300_000).fit(source(svm, Changed))


def test_values_that_are_not_finite_are_refused(svm):
    X, y = svm.blobs(500, 5)
    X[321, 2] = np.nan
    with pytest.raises(ValueError, match="row 321"):
        StreamSVC().fit(ArraySource(X, y))


class Slow(ArraySource):
    def blocks(self):
        for block in super().blocks():
            time.sleep(0.02)
            yield block


@pytest.mark.parametrize("kind", [ArraySource, Slow])
def test_an_interrupt_ends_the_fit(svm, kind):
    rows = source(svm, kind)

    def interrupt():
        time.sleep(1.5)
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=interrupt)
    sender.start()
    with pytest.warns(UserWarning, match="interrupted"):
        model = StreamSVC(C=100.0, tol=1e-15, memory=300_000).fit(rows)
    sender.join()
    assert model.certificate_.status == "interrupted"


def test_the_trainer_works_while_it_waits(svm):
    model = StreamSVC(tol=1e-3, memory=300_000).fit(source(svm, Slow, n=1000))
    assert model.history_[-1].cache_hit_rate > 0.5


MEMORY = (
    CHILD
    + """
class Generated(ArraySource):
    # rows made anew in every pass: 20 times the memory
    n, d, kind, fingerprint, name = 400_000, 50, "dense", "generated", "generated"
    largest_block = 400 * 2000
    feature_names = index_base = None
    def __init__(self): pass
    def blocks(self):
        from maxmargin.data import Block
        w = np.random.default_rng(0).normal(size=50)
        for k in range(200):
            rng = np.random.default_rng(k)
            X = rng.normal(size=(2000, 50)).astype(np.float32)
            y = np.where(X @ w + 2 * rng.normal(size=2000) > 0, 1.0, -1.0)
            yield Block(2000 * k, X, y)
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
StreamSVC(max_iter=1, tol=0.9, memory="8MB").fit(Generated())  # imports and stacks
before = peak()
model = StreamSVC(C=0.01, memory="8MB").fit(Generated())
print(peak() - before, model.certificate_.relative_gap, model.history_[-1].cached)
"""
)


@pytest.mark.filterwarnings("ignore")
def test_memory_stays_within_the_budget():
    """80 MB of rows in a budget of 8 MB, besides alpha (3.2 MB) and w."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEMORY], capture_output=True, text=True, check=True
    )
    grown, gap, cached = map(float, ran.stdout.split())
    assert gap <= 1e-3
    assert 0 < cached < 60_000
    assert grown < 20e6
