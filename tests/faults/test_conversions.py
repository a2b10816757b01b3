"""Conversions that fail or are killed leave nothing behind, and say why."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from maxmargin import data

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and files as on Linux")

ROWS = """
import sys, time
import numpy as np
from maxmargin import data

path, shuffle, how = sys.argv[1], sys.argv[2] == "True", sys.argv[3]
X = np.ones((20_000, 20), np.float32)

class Rows(data.ArraySource):
    def blocks(self):
        for k, block in enumerate(super().blocks()):
            if how == "kill" and k == 5:
                print("halfway", flush=True)
                time.sleep(60)
            yield block

if how == "full":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    data.write_store(
        Rows(X, np.ones(20_000), block_bytes=50_000), path, shuffle=shuffle, block_bytes=50_000
    )
except data.DataError as error:
    sys.exit(f"refused: {error}")
"""


def start(path, shuffle, how):
    arguments = [sys.executable, "-c", ROWS, str(path), str(shuffle), how]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=path.parent
    )


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("old", [False, True])
def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path, shuffle, old):
    path = tmp_path / "rows.arrow"
    if old:
        path.write_bytes(b"old")
    process = start(path, shuffle, "full")
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "refused:" in errors
    assert "cannot be written: File too large" in errors
    assert os.listdir(tmp_path) == (["rows.arrow"] if old else [])
    assert not old or path.read_bytes() == b"old"


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_conversion_leaves_nothing(tmp_path, shuffle, how):
    from maxmargin.data.atomic_files import _open_unnamed

    unnamed = _open_unnamed(tmp_path)
    if unnamed is None:
        pytest.skip("this file system has no files without a name")
    unnamed.close()
    process = start(tmp_path / "rows.arrow", shuffle, "kill")
    assert process.stdout.readline() == "halfway\n"
    process.send_signal(how)
    process.communicate(timeout=300)
    assert os.listdir(tmp_path) == []


def test_unwritable_targets_are_named(tmp_path):
    source = data.ArraySource(np.eye(2))
    with pytest.raises(data.DataError, match=r"nowhere.x\.arrow: cannot be written: No such file"):
        data.write_store(source, tmp_path / "nowhere" / "x.arrow")
    with pytest.raises(data.DataError, match="cannot be written: it is a folder"):
        data.write_store(source, tmp_path)
    with pytest.raises(data.DataError, match=r"temporary files cannot be written|cannot be writte"):
        data.write_store(source, tmp_path / "nowhere" / "x.arrow", shuffle=True)


def test_files_are_written_beside_where_they_must_have_a_name(tmp_path, monkeypatch):
    from maxmargin.data import atomic_files

    monkeypatch.setattr(atomic_files, "_open_unnamed", lambda folder: None)
    data.write_store(data.ArraySource(np.eye(2)), tmp_path / "x.arrow")
    assert os.listdir(tmp_path) == ["x.arrow"]
    assert data.open_source(tmp_path / "x.arrow").n == 2
