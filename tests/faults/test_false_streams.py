"""Sources that hold other rows than they say, with every checksum right: a sentence, never a crash
and never a false certificate."""

import os
from dataclasses import replace

import numpy as np
import pytest

from maxmargin import StreamSVC, _core
from maxmargin.data import ArraySource, Dataset, open_source, save, write_store
from maxmargin.data.errors import DataError
from maxmargin.data.store.description import Summary

N = 600


@pytest.fixture
def write_false(svm, tmp_path, monkeypatch):
    """Writes a row store whose summary says what it is told."""
    X, y = svm.blobs(N, 5)
    pack = Summary.pack

    def write(**false):
        monkeypatch.setattr(Summary, "pack", lambda self: pack(replace(self, **false)))
        path = tmp_path / "rows.arrow"
        write_store(ArraySource(X, y), path, block_bytes=1 << 11)
        monkeypatch.undo()
        return path

    return write


@pytest.mark.parametrize("rows", [2, N // 2, N - 1, N + 1, 2 * N])
@pytest.mark.parametrize("memory", ["100KB", "1GB"])
def test_a_store_that_holds_more_rows_than_it_says_or_fewer(write_false, rows, memory):
    labels = [[-1.0, rows // 2], [1.0, rows - rows // 2]]
    path = write_false(rows=rows, labels=labels)
    with pytest.raises(DataError, match=r"rows.arrow: .*; expected .* says"):
        StreamSVC(memory=memory).fit(path)


@pytest.mark.parametrize(
    "labels",
    [
        [[-1.0, 1], [1.0, N - 1]],
        [[-1.0, N // 2], [0.0, 1], [1.0, N - N // 2 - 1]],
        [[-2.0, N // 2], [1.0, N - N // 2]],
    ],
)
@pytest.mark.parametrize("memory", ["100KB", "1GB"])
def test_a_store_that_says_falsely_how_many_rows_each_class_has(write_false, labels, memory):
    path = write_false(labels=labels)
    with pytest.raises(DataError, match=r"rows.arrow: .*(changed|false)"):
        StreamSVC(memory=memory, class_weight="balanced").fit(path)


@pytest.mark.parametrize(
    "labels",
    [
        [[-1.0, 1], [1.0, 1]],
        [[1.0, N // 2], [-1.0, N - N // 2]],
        [[-1.0, -N], [1.0, 2 * N]],
        [[-1.0, 0.5], [1.0, N - 0.5]],
        [["a", N // 2], [1.0, N - N // 2]],
        [[1.0], 5],
        {"a": 1},
        "labels",
        [[None, N // 2], [1.0, N - N // 2]],
    ],
)
def test_a_store_whose_labels_make_no_sense(write_false, labels):
    path = write_false(labels=labels)
    with pytest.raises(DataError, match=r"rows.arrow: its (rows|summary) .* convert"):
        StreamSVC().fit(path)


class Growing(ArraySource):
    """Rows are added while the first pass for training is under way."""

    passes = 0

    def blocks(self):
        self.passes += 1
        yield from (blocks := list(super().blocks()))
        if self.passes > 2:
            yield replace(blocks[0], first=self.n)


@pytest.mark.parametrize("memory", [300_000, 1 << 30])
def test_rows_that_are_added_while_they_are_read(svm, memory):
    source = Growing(*svm.blobs(N, 5), block_bytes=1 << 11)
    with pytest.raises(DataError, match=r"X: a pass found 6.. rows or more; expected 600"):
        StreamSVC(memory=memory).fit(source)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def grow(path):
    with open(path, "ab") as file:
        file.write(path.read_bytes()[: 1 << 10])


def replace_file(path):
    other = path.with_suffix(".other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


@pytest.mark.parametrize("change", [cut, grow, replace_file])
@pytest.mark.parametrize("ending", ["svm", "arrow"])
def test_a_file_that_changes_between_passes_ends_in_a_sentence(svm, tmp_path, ending, change):
    path = tmp_path / "rows.svm"
    save(Dataset(*svm.blobs(N, 5, noise=2.0)), path)
    if ending == "arrow":
        path = tmp_path / "rows.arrow"
        write_store(open_source(tmp_path / "rows.svm"), path, block_bytes=1 << 11)
    changes = [change]
    source = open_source(path)
    memory = 6 * source.largest_block + 4 * N + 1000
    with pytest.raises(DataError, match=rf"rows.{ending}:.*(changed|too early|incomplete)"):
        StreamSVC(memory=memory, tol=1e-12, callback=lambda p: changes and changes.pop()(path)).fit(
            source
        )


class ValuesChange(ArraySource):
    """Rows whose features, not labels, are others in a later pass."""

    passes = 0

    def blocks(self):
        self.passes += 1
        for block in super().blocks():
            change = 1e-3 if self.passes > 3 and block.first else 0.0
            yield replace(block, X=block.X + change)


def test_values_that_change_between_passes_are_noticed(svm):
    source = ValuesChange(*svm.blobs(N, 5, noise=2.0), block_bytes=1 << 11)
    with pytest.raises(DataError, match="not what they were in an earlier pass"):
        StreamSVC(memory=20_000, tol=1e-8).fit(source)


def test_labels_that_are_no_numbers_are_refused():
    y = np.array([0.0, 1.0, np.nan, 1.0])
    with pytest.raises(DataError, match="row 3 has label nan"):
        StreamSVC().fit(ArraySource(np.eye(4), y))


def packed(first, n=4, cost=1.0, code=0):
    X = np.eye(4)[:n]
    format_ = _core.row_format(_core.dense_rows(X, 0.0), 0.0, None)
    codes, costs = np.full(n, code, np.int32), np.full(n, cost)
    return _core.pack_rows(_core.dense_rows(X, 0.0), first, codes, costs, format_), format_


@pytest.mark.parametrize(
    "wrong", [{"cost": -1.0}, {"cost": np.nan}, {"cost": np.inf}, {"code": -1}]
)
def test_rows_with_costs_or_classes_that_make_no_sense_are_not_packed(wrong):
    with pytest.raises(_core.InvalidInput, match=r"row 7 .* has cost"):
        packed(7, **wrong)


@pytest.mark.parametrize("first", [-1, 5, 8, 1 << 40, (1 << 63) - 5])
@pytest.mark.parametrize("how", ["consume", "check_gap"])
def test_the_core_takes_no_rows_beyond_those_it_has_room_for(first, how):
    block, format_ = packed(first)
    loops = _core.CachedLoops(format_, 8, 1, 1 << 16, 0)
    loops.set_problem(0, 1, np.zeros(8), np.zeros(4))
    pool, zero = _core.Pool(1), [np.zeros(4)]
    losses = np.zeros((1, len(_core.CachedLoops.line)))
    with pytest.raises(_core.InvalidInput, match="more rows than there were"):
        if how == "consume":
            loops.consume(block, pool)
        else:
            loops.start_check()
            loops.check_gap(block, zero, zero, losses, pool)
