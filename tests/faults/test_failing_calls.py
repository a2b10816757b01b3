"""Every call of the system that reads or writes fails in turn: the right error, the old file whole,
nothing left behind, and the next try works."""

import builtins
import errno
import io
import mmap
import os
import resource
import signal
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import LinearSVC, StreamSVC, data
from maxmargin.data import Dataset, open_source, write_store
from maxmargin.models import load_model, save
from maxmargin.solvers.streaming.checkpoint import CheckpointWarning

X = np.random.default_rng(0).normal(size=(60, 4)).round(2)
Y = np.tile([-1, 1], 30)
SPARSE = sp.csr_matrix(X * (X > 0))
MODEL = LinearSVC().fit(X, Y)
CALLS = [
    *((os, name) for name in ("open", "read", "write", "fsync", "replace", "link", "preadv")),
    *((os, name) for name in ("fchmod", "posix_fadvise", "ftruncate", "sendfile", "lseek")),
    *((builtins, "open"), (io, "open"), (mmap, "mmap")),
]


class Failing:
    """Lets call number `which` of those in CALLS fail with an error of the disk."""

    def __init__(self, which, monkeypatch):
        self.left = which
        for module, name in CALLS:
            if hasattr(module, name):
                monkeypatch.setattr(module, name, self._wrapped(getattr(module, name)))

    def _wrapped(self, call):
        def wrapped(*arguments, **options):
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return call(*arguments, **options)

        return wrapped


def fail_each_call(work, check):
    """Runs `work` with call 1, 2, ... failing, until all succeed; how many there are."""
    for which in range(1, 200):
        with pytest.MonkeyPatch.context() as patch:
            failing = Failing(which, patch)
            try:
                work()
                failed = False
            except (OSError, ValueError):  # DataError is a ValueError
                failed = True
        check(failed)
        if failing.left > 0:
            return which - 1
    raise AssertionError("more calls than expected")


def stream_with_checkpoint(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        StreamSVC(checkpoint=path, checkpoint_every=0.0, max_iter=2).fit(X, Y)


WRITERS = {
    "model": lambda path: save(MODEL, path),
    "svmlight": lambda path: data.save(Dataset(X=SPARSE, y=Y), path, format="svmlight"),
    "csv": lambda path: data.save(Dataset(X=X, y=Y), path, format="csv"),
    "parquet": lambda path: data.save(Dataset(X=X, y=Y), path, format="parquet"),
    "arrow": lambda path: data.save(Dataset(X=X, y=Y), path, format="arrow"),
    "store": lambda path: write_store(open_source(Dataset(X=X, y=Y)), path, shuffle=True),
}


@pytest.fixture(params=WRITERS)
def writer(request):
    return WRITERS[request.param]


def test_a_call_that_fails_while_writing_leaves_the_old_file(writer, tmp_path):
    path = tmp_path / "out"
    writer(path)
    whole = path.read_bytes()

    def check(failed):
        nonlocal inode
        assert os.listdir(tmp_path) == ["out"] and path.read_bytes() == whole
        assert not failed or path.stat().st_ino == inode
        inode = path.stat().st_ino

    inode = path.stat().st_ino
    assert fail_each_call(lambda: writer(path), check) >= 4


@contextmanager
def files_of_at_most(size):
    """Writing beyond fails, as on a full disk; Python ignores the signal."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_a_disk_that_is_full_at_any_point_leaves_the_old_file(writer, tmp_path):
    path = tmp_path / "out"
    writer(path)
    whole, inode = path.read_bytes(), path.stat().st_ino
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        size = min(int(share * len(whole)), len(whole) - 1)
        with files_of_at_most(size), pytest.raises((OSError, ValueError), match="written"):
            writer(path)
        assert os.listdir(tmp_path) == ["out"]
        assert path.read_bytes() == whole and path.stat().st_ino == inode


def test_a_checkpoint_that_cannot_be_written_is_a_warning(tmp_path):
    path = tmp_path / "checkpoint"
    stream_with_checkpoint(path)
    old = path.read_bytes()
    with files_of_at_most(10), pytest.warns(CheckpointWarning, match="last one stays"):
        StreamSVC(checkpoint=path, checkpoint_every=0.0, max_iter=3).fit(X, Y)
    assert os.listdir(tmp_path) == ["checkpoint"] and path.read_bytes() == old


def blocks_of(path):
    for block in open_source(path).blocks():
        assert block.X.shape[1] == 4


READERS = {
    "model": ("model", load_model),
    "svmlight": ("svmlight", data.open),
    "csv": ("csv", data.open),
    "parquet": ("parquet", data.open),
    "arrow": ("arrow", data.open),
    "blocks of svmlight": ("svmlight", blocks_of),
    "blocks of csv": ("csv", blocks_of),
    "blocks of a store": ("store", blocks_of),
}


@pytest.mark.parametrize("name", READERS)
def test_a_call_that_fails_while_reading_is_an_error_and_the_next_try_works(name, tmp_path):
    written, reader = READERS[name]
    path = tmp_path / "in"
    WRITERS[written](path)
    whole = path.read_bytes()

    def check(failed):
        assert os.listdir(tmp_path) == ["in"] and path.read_bytes() == whole

    assert fail_each_call(lambda: reader(path), check) >= 1
    reader(path)
