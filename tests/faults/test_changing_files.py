"""Files that change while they are read: an error, or rows of one moment, but never a crash."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from maxmargin import StreamSVC, _core, data

READS_WHILE_IT_CHANGES = """
import sys, threading
from pathlib import Path
import numpy as np
import pyarrow as pa, pyarrow.ipc, pyarrow.parquet
from maxmargin import data

folder, name = Path(sys.argv[1]), sys.argv[2]
path = folder / name
n = 30_000
if name == "text.svm":
    sparse = b"1 1:1.5              \\n" * n
    versions = [sparse, b"1 1:1 2:1 3:1 4:1 5:1\\n" * n, sparse[: 9 * n]]
else:
    def written(values):
        table = pa.table({"label": np.arange(n) % 2, "x": values, "z": values})
        if name == "table.csv":
            pa.csv.write_csv(table, path)
        elif name == "table.parquet":
            pa.parquet.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=1000)
        return path.read_bytes()
    import pyarrow.csv
    whole = written(np.random.default_rng(0).random(n))
    versions = [whole, written(np.zeros(n)), whole[: len(whole) // 3]]

stop = threading.Event()
def change():
    with open(path, "r+b", buffering=0) as file:
        while not stop.is_set():
            for version in versions:
                file.seek(0)
                file.write(version)
                file.truncate(len(version))
path.write_bytes(versions[0])
thread = threading.Thread(target=change)
thread.start()
outcomes = {"rows": 0, "refused": 0}
try:
    for trial in range(int(sys.argv[3])):
        try:
            if trial % 2:
                data.open(path, threads=2)
            else:
                list(data.open_source(path, threads=2).blocks())
            outcomes["rows"] += 1
        except data.DataError:
            outcomes["refused"] += 1
finally:
    stop.set()
    thread.join()
print(outcomes)
"""


@pytest.mark.parametrize("name", ["text.svm", "table.csv", "table.parquet", "table.arrow"])
def test_a_file_written_to_and_cut_while_it_is_read_ends_no_process(tmp_path, name):
    done = subprocess.run(
        [sys.executable, "-c", READS_WHILE_IT_CHANGES, str(tmp_path), name, "8"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert "refused" in done.stdout


def test_text_that_has_become_shorter_is_refused(tmp_path):
    path = tmp_path / "text.svm"
    path.write_bytes(b"1 1:1\n" * 10)
    with open(path, "rb") as file, pytest.raises(ValueError, match="shorter while it was read"):
        _core.read_svmlight_file_float32(file.fileno(), 0, 600, None, None, _core.Pool(1), 1 << 20)


def test_a_file_that_changed_since_it_was_opened_is_not_half_believed(tmp_path, monkeypatch):
    path = tmp_path / "text.svm"
    path.write_bytes(b"1 1:1\n-1 2:1\n")
    real = _core.read_svmlight_file_float32

    def read_and_change(*arguments):
        found = real(*arguments)
        path.write_bytes(b"1 1:1\n")
        return found

    monkeypatch.setattr(_core, "read_svmlight_file_float32", read_and_change)
    with pytest.raises(data.DataError, match=r"text\.svm: changed while it was in use"):
        data.open(path)


def test_rows_added_during_the_first_pass_are_refused_before_they_are_handed_out(tmp_path):
    path = tmp_path / "text.svm"
    path.write_bytes(b"1 1:1\n-1 2:1\n" * 10)
    source = data.open_source(path)
    state = os.stat(path)
    path.write_bytes(b"1 1:1\n-1 2:1\n" * 1000)
    source._file.state = type(source._file.state)(13_000, os.stat(path).st_mtime_ns, state.st_ino)
    blocks = source.blocks()
    with pytest.raises(data.DataError, match="found 2000 rows; expected 20"):
        next(blocks)
    with pytest.raises(ValueError):
        StreamSVC().fit(source)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_text_is_the_same_from_a_file_and_from_memory_for_any_number_of_threads(tmp_path, threads):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(2)} " + " ".join(f"{j}:{rng.random():.6f}" for j in range(rng.integers(9)))
        for _ in range(30_000)
    ]
    lines[7], lines[20_000] = "", "# 1:2 3:4 a comment with colons"
    path = tmp_path / "text.svm"
    path.write_text("\n".join(lines))
    with open(path, "rb") as file:
        memory = data.open(file, threads=threads)
    ours = data.open(path, threads=threads)
    assert ours.X.shape == memory.X.shape == (29_998, 8)
    assert (ours.X != memory.X).nnz == 0
    assert np.array_equal(ours.y, memory.y)
