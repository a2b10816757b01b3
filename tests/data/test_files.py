"""Bytes in and out: packing, streams, damaged files, and files that are whole or not there."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from maxmargin import data
from maxmargin.data.formats.compression import COMPRESSIONS

TEXT = b"".join(b"%d 1:%d.5 2:0.25\n" % (i % 2, i) for i in range(20_000))


def zstd(content: bytes) -> bytes:
    return pa.Codec("zstd").compress(content, asbytes=True)


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def assert_is_the_text(rows: data.Dataset) -> None:
    assert rows.X.shape == (20_000, 2)
    assert rows.X[:, 0].sum() == sum(i + 0.5 for i in range(20_000))


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("name", ["rows.svm", "rows.gz", "rows"])
def test_compression_is_known_by_content_whatever_the_name(packer, name, tmp_path):
    (tmp_path / name).write_bytes(PACKERS[packer](TEXT))
    assert_is_the_text(data.open(tmp_path / name))
    assert_is_the_text(data.open(str(tmp_path / name)))


@pytest.mark.parametrize("packer", PACKERS)
def test_files_packed_in_several_parts(packer):
    half = TEXT.index(b"\n", len(TEXT) // 2) + 1
    packed = PACKERS[packer](TEXT[:half]) + PACKERS[packer](TEXT[half:])
    assert_is_the_text(data.open(io.BytesIO(packed)))


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
def test_a_truncated_compressed_file_is_named(packer, share, tmp_path):
    packed = PACKERS[packer](TEXT)
    path = tmp_path / "cut.svm"
    path.write_bytes(packed[: max(6, int(share * len(packed)))])
    with pytest.raises(data.DataError) as raised:
        data.open(path)
    assert str(raised.value).startswith(f"{path}: the ")
    assert "ends too early" in str(raised.value)
    assert "download it again" in str(raised.value)


@pytest.mark.parametrize("packer", PACKERS)
def test_a_damaged_compressed_file_is_named(packer, tmp_path):
    packed = bytearray(PACKERS[packer](TEXT))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    path = tmp_path / "damaged.svm"
    path.write_bytes(packed)
    with pytest.raises(data.DataError, match=r"damaged\.svm"):
        data.open(path)


@pytest.mark.parametrize("content", [TEXT, gzip.compress(TEXT), zstd(TEXT)])
def test_standard_input(content):
    script = "from maxmargin import data; r = data.open('-'); print(r.X.shape, r.source)"
    run = subprocess.run([sys.executable, "-c", script], input=content, capture_output=True)
    assert run.stdout.decode().strip() == "(20000, 2) standard input"


def test_standard_input_in_messages(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:x\n")))
    with pytest.raises(data.DataError, match=r"^standard input:1: found '1:x'"):
        data.open("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(pipe)!r}, 'wb').write({TEXT[:600]!r} + b'\\n')"]
    )
    assert data.open(pipe).X.shape[1] == 2
    assert writer.wait() == 0


def test_a_stream_of_text_is_refused():
    with pytest.raises(data.DataError, match="open it in binary mode"):
        data.open(io.StringIO("1 1:1\n"))


def test_unreadable_sources(tmp_path):
    with pytest.raises(data.DataError, match=r"nowhere\.svm: cannot be read: No such file"):
        data.open(tmp_path / "nowhere.svm")
    with pytest.raises(data.DataError, match="cannot be read: Is a directory"):
        data.open(tmp_path)
    (tmp_path / "empty.svm").touch()
    with pytest.raises(data.DataError, match=r"empty\.svm: is empty"):
        data.open(tmp_path / "empty.svm")


# ------------------------------------------------------------------ writing

ROWS = data.Dataset(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([1.0, -1.0]))


@pytest.mark.parametrize("suffix", ["", *(c.suffix for c in COMPRESSIONS)])
@pytest.mark.parametrize("ending", ["svm", "csv"])
def test_the_name_says_format_and_compression(ending, suffix, tmp_path):
    path = tmp_path / f"rows.{ending}{suffix}"
    data.save(ROWS, path)
    first = path.read_bytes()
    assert all(first.startswith(c.magic) == (c.suffix == suffix) for c in COMPRESSIONS)
    back = data.open(path)
    np.testing.assert_array_equal(
        np.asarray(back.X.todense() if ending == "svm" else back.X), ROWS.X
    )
    data.save(ROWS, path)
    assert path.read_bytes() == first  # the same data, the same file
    assert os.listdir(tmp_path) == [path.name]


def test_a_name_that_says_nothing_needs_a_format(tmp_path):
    with pytest.raises(data.DataError, match="the name does not tell the format"):
        data.save(ROWS, tmp_path / "rows")
    data.save(ROWS, tmp_path / "rows", format="svmlight")
    assert (tmp_path / "rows").read_bytes() == b"1 1:1 2:2\n-1 2:3\n"
    with pytest.raises(data.DataError, match="format is 'xls'; expected one of"):
        data.save(ROWS, tmp_path / "rows", format="xls")


def test_an_index_base_for_tables_is_refused(tmp_path):
    with pytest.raises(data.DataError, match="csv has no index base"):
        data.save(ROWS, tmp_path / "rows.csv", zero_based=True)


def test_standard_output():
    script = (
        "import numpy as np; from maxmargin import data;"
        "data.save(data.Dataset(np.eye(2), np.arange(2)), '-', format='svmlight')"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert run.stdout == b"0 1:1\n1 2:1\n"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error), data.write_atomically(path) as file:
            file.write(b"half of the n")
            raise error
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["file"]
    with data.write_atomically(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def test_a_full_disk_is_reported(tmp_path):
    with (
        pytest.raises(data.DataError, match="cannot be written: No space left"),
        data.write_atomically(tmp_path / "file"),
    ):
        raise OSError(28, "No space left on device")
    assert not os.listdir(tmp_path)


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with data.write_atomically(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with data.write_atomically(tmp_path / "new") as file:
        file.write(b"x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs a device")
def test_devices_are_written_directly():
    data.save(ROWS, "/dev/null", format="csv")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_unwritable_targets(tmp_path, monkeypatch):
    (tmp_path / "file.svm").write_bytes(b"old")
    for target, reason in [
        (tmp_path / "nowhere" / "x.svm", "No such file or directory"),
        (tmp_path / "file.svm" / "x.svm", "Not a directory"),
        (tmp_path, "it is a folder"),
    ]:
        with pytest.raises(data.DataError, match=f"cannot be written: {reason}"):
            data.save(ROWS, target, format="svmlight")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(data.DataError, match="it is write-protected; choose another place"):
        data.save(ROWS, tmp_path / "file.svm")
    assert (tmp_path / "file.svm").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file.svm"]


def test_a_file_may_be_converted_onto_itself(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(TEXT)
    data.save(data.open(path), path)
    assert_is_the_text(data.open(path))


@pytest.mark.parametrize(
    "name", ["rows.svm", "rows.csv", "rows.parquet", "rows.csv.gz", "rows.arrow"]
)
def test_writing_tells_how_many_rows_are_written(name, tmp_path):
    told: list[int] = []
    rows = data.Dataset(np.ones((70_000, 20), np.float32), np.arange(70_000) % 2)
    data.save(rows, tmp_path / name, watch=told.append)
    assert told == sorted(told) and told[-1] == 70_000
    assert len(told) > 1 or name == "rows.arrow"
