"""Small files that ask for much: refused early, in a sentence that names what raises the limit."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from maxmargin import data
from maxmargin.cli.main import app
from maxmargin.data.formats.compression import COMPRESSIONS


def drained(path) -> int:
    return sum(block.n for block in data.open_source(path).blocks())


READERS = {"open": data.open, "open_source": drained}
TOO_MUCH, TOO_LONG = "set MAXMARGIN_MAX_UNPACKED", "set MAXMARGIN_MAX_LINE"


@pytest.fixture(params=READERS)
def read(request):
    return READERS[request.param]


def pack(path, compression, text: bytes, times: int = 1):
    with open(path, "wb") as file:
        packed = compression.writer(file)
        for _ in range(times):
            packed.write(text)
        packed.close()
    return path


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=lambda c: c.name)
def test_text_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, read, compression):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    path = pack(tmp_path / "bomb", compression, b"1 1:1\n" * 300_000)
    with pytest.raises(data.DataError, match=f"bomb: .* unpack to .* {TOO_MUCH}"):
        read(path)
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "2MB")
    read(path)


@pytest.mark.parametrize("compression", COMPRESSIONS, ids=lambda c: c.name)
def test_a_packed_stream_has_the_same_limit(tmp_path, monkeypatch, compression):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    path = pack(tmp_path / "bomb", compression, b"1 1:1\n" * 300_000)
    with pytest.raises(data.DataError, match=TOO_MUCH):
        data.open(io.BytesIO(path.read_bytes()))


def test_by_default_a_file_may_unpack_to_a_hundred_times_its_size_and_to_256_mb(tmp_path):
    zstd = COMPRESSIONS[-1]
    line = b"# " + b"-" * (1 << 20) + b"\n"
    with pytest.raises(data.DataError, match=f"at most 256 MB; .* {TOO_MUCH}"):
        drained(pack(tmp_path / "bomb.zst", zstd, line, 300))


def test_what_is_packed_twice_is_not_unpacked_twice(tmp_path, read):
    gzip = COMPRESSIONS[0]
    inner = pack(tmp_path / "inner", gzip, b"1 1:1\n" * 1000).read_bytes()
    with pytest.raises(data.DataError, match="outer"):
        read(pack(tmp_path / "outer", gzip, inner))


def test_a_limit_that_is_no_size_is_refused(tmp_path, monkeypatch, read):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "plenty")
    with pytest.raises(ValueError, match=r"MAXMARGIN_MAX_UNPACKED must be .* got 'plenty'"):
        read(pack(tmp_path / "packed", COMPRESSIONS[0], b"1 1:1\n"))


@pytest.mark.parametrize(
    ("name", "begin", "rest"),
    [
        ("endless.svm", b"1 1:1\n-1 ", b"1:1 "),
        ("endless.csv", b"label,x\n1,2\n1,", b"1,2,"),
        ("endless.fasta", b">a label=1\nAC\n>b label=1\n", b"ACGT"),
    ],
)
def test_a_line_without_end_is_refused(tmp_path, monkeypatch, name, begin, rest):
    monkeypatch.setenv("MAXMARGIN_MAX_LINE", "1MB")
    path = tmp_path / name
    path.write_bytes(begin + rest * (3 << 20))
    found = f"{name}.* found a line of more than .* {TOO_LONG}"
    for read in [drained] if "fasta" in name else READERS.values():
        with pytest.raises(data.DataError, match=found):
            read(path)


@pytest.mark.parametrize("name", ["long.svm", "long.csv"])
def test_long_lines_are_read_where_they_are_allowed(tmp_path, monkeypatch, read, name):
    monkeypatch.setenv("MAXMARGIN_MAX_LINE", "20MB")
    text = {
        "long.svm": b"1 1:1 # " + b"-" * (9 << 20) + b"\n-1 2:1\n",
        "long.csv": b"label,x\n1," + b"0" * (9 << 20) + b"1\n-1,2\n",
    }[name]
    (tmp_path / name).write_bytes(text)
    rows = read(tmp_path / name)
    assert rows == 2 or rows.X.shape[0] == 2


def test_a_parquet_file_of_few_bytes_and_many_rows_is_not_put_into_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    columns = {"label": np.zeros(200_000, np.int8)} | {f"x{j}": np.zeros(200_000) for j in range(3)}
    pa.parquet.write_table(pa.table(columns), tmp_path / "bomb.parquet")
    with pytest.raises(data.DataError, match=rf"bomb\.parquet: .* {TOO_MUCH}"):
        data.open(tmp_path / "bomb.parquet")
    assert data.open_source(tmp_path / "bomb.parquet").n == 200_000


def test_a_column_of_parquet_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, read):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    table = pa.table({"label": [1, 2], "x": [1.0, 2.0], "name": ["a" * (2 << 20), "b"]})
    pa.parquet.write_table(table, tmp_path / "bomb.parquet", compression="zstd")
    with pytest.raises(data.DataError, match=TOO_MUCH):
        read(tmp_path / "bomb.parquet")


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_batch_of_arrow_that_unpacks_to_too_much_is_refused(
    tmp_path, monkeypatch, read, compression
):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    table = pa.table({"label": np.zeros(100_000), "x": np.zeros(100_000)})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(tmp_path / "bomb.arrow", table.schema, options=options) as writer:
        writer.write_table(table)
    with pytest.raises(data.DataError, match=TOO_MUCH):
        read(tmp_path / "bomb.arrow")


def test_a_block_of_a_store_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch, read):
    X = np.zeros((1000, 500), np.float32)
    data.write_store(data.ArraySource(X, np.zeros(1000)), tmp_path / "s.arrow", compression="zstd")
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    with pytest.raises(data.DataError, match=rf"s\.arrow.* {TOO_MUCH}"):
        read(tmp_path / "s.arrow")


def test_a_batch_of_arrow_with_an_absurd_number_of_rows_is_refused(tmp_path, read):
    """A column of nothing takes no bytes, so nothing else limits it."""
    nothing = pa.Array.from_buffers(pa.null(), 1 << 40, [None], null_count=1 << 40)
    batch = pa.record_batch([nothing, nothing], names=["label", "x"])
    options = pa.ipc.IpcWriteOptions(allow_64bit=True)
    with pa.ipc.new_file(tmp_path / "absurd.arrow", batch.schema, options=options) as writer:
        writer.write_batch(batch)
    with pytest.raises(data.DataError, match=r"absurd\.arrow"):
        read(tmp_path / "absurd.arrow")


@pytest.mark.parametrize("name", ["bomb.svm.zst", "endless.svm"])
def test_commands_refuse_bombs_in_a_sentence(tmp_path, monkeypatch, name):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    monkeypatch.setenv("MAXMARGIN_MAX_LINE", "1MB")
    path = tmp_path / name
    if name == "endless.svm":
        path.write_bytes(b"1 1:1\n-1 " + b"1:1 " * (2 << 20))
    else:
        pack(path, COMPRESSIONS[-1], b"1 1:1\n" * 300_000)
    for arguments in (["info"], ["train", "--kind", "stream"], ["train"]):
        out = [] if arguments == ["info"] else [str(tmp_path / "out.model")]
        done = CliRunner().invoke(app, [*arguments, str(path), *out])
        assert done.exit_code == 1
        assert "MAXMARGIN_MAX_" in done.output
        assert not (tmp_path / "out.model").exists()


MEMORY_OF_INFO = """
import sys
from maxmargin.cli.main import app
def peak_after(path):
    app(["info", path], standalone_mode=False)
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) >> 10
small = peak_after(sys.argv[1])  # all that is imported counts here
print("grew", peak_after(sys.argv[2]) - small)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", ["svm.zst", "parquet"])
def test_info_needs_a_few_megabytes_however_large_the_file(tmp_path, kind):
    paths = []
    for n in (100, 100_000):
        paths.append(path := tmp_path / f"{n}.{kind}")
        if kind == "parquet":
            columns = {"label": np.zeros(10 * n, np.int8)}
            columns |= {f"x{j}": np.zeros(10 * n, np.float32) for j in range(32)}
            pa.parquet.write_table(pa.table(columns), path)
        else:
            pack(path, COMPRESSIONS[-1], b"1 1:1 # " + b"-" * 1000 + b"\n", n)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY_OF_INFO, *map(str, paths)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split("grew")[1]) < 60  # MB; whole, they are more than 100
