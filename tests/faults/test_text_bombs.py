"""Tables of a few bytes that would be large in memory: text that rows share, pages that unpack to
more than the footer says. Refused before they are unpacked, in a sentence that names the limit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from maxmargin import data
from maxmargin.data.encoding.encoding import Options, batches_of, fit
from maxmargin.data.formats.parquet_pages import rows_that_fit

TOO_MUCH = "set MAXMARGIN_MAX_UNPACKED"
ROWS = 1000


def drained(path, **options) -> int:
    return sum(block.n for block in data.open_source(path, **options).blocks())


@pytest.fixture(params=[data.open, drained], ids=["open", "open_source"])
def read(request, monkeypatch):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    return request.param


def write(path, table, **options):
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, compression="zstd", **options)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    return path


def shared_text(length: int, rows: int = ROWS) -> pa.Array:
    """A column in which all rows have the same long text."""
    indices = pa.array(np.zeros(rows, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(["a" * length]))


def views_of_one_text(length: int, rows: int = ROWS) -> pa.Array:
    """The same without a dictionary: every row views the only text."""
    view = np.zeros(4, np.int32)  # length, prefix, buffer, offset
    view[0], view[1] = length, np.frombuffer(b"aaaa", np.int32)[0]
    buffers = [None, pa.py_buffer(np.tile(view, rows)), pa.py_buffer(b"a" * length)]
    return pa.Array.from_buffers(pa.string_view(), rows, buffers)


@pytest.mark.parametrize("text", ["label", "x"])
def test_views_of_one_long_text_are_refused(tmp_path, monkeypatch, text):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "4MB")
    columns = {"label": np.arange(ROWS) % 2, "x": np.ones(ROWS)} | {
        text: views_of_one_text(1 << 16)
    }
    path = write(tmp_path / "views.arrow", pa.table(columns))
    with pytest.raises(data.DataError, match=TOO_MUCH):
        data.open(path, encode="auto")
    with pytest.raises(data.DataError, match=TOO_MUCH):
        drained(path, encode="auto")


DELTA = {"use_dictionary": False, "column_encoding": {"label": "DELTA_BYTE_ARRAY", "x": "PLAIN"}}


@pytest.mark.parametrize(
    ("name", "is_plain", "options"),
    [
        ("shared.arrow", False, {}),
        ("shared.parquet", False, {}),
        ("dictionary_page.parquet", True, {}),
        ("delta.parquet", True, DELTA),
    ],
)
def test_labels_that_share_a_long_text_are_refused(tmp_path, read, name, is_plain, options):
    label = shared_text(1 << 16)
    label = label.dictionary_decode() if is_plain else label
    path = write(tmp_path / name, pa.table({"label": label, "x": np.ones(ROWS)}), **options)
    if name != "shared.arrow":
        assert path.stat().st_size < 5000
    with pytest.raises(data.DataError, match=TOO_MUCH):
        read(path)


@pytest.mark.parametrize("name", ["text.arrow", "text.parquet"])
def test_a_text_column_whose_rows_share_a_long_text_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    label = np.arange(ROWS) % 2
    path = write(tmp_path / name, pa.table({"label": label, "text": shared_text(1 << 16)}))
    with pytest.raises(data.DataError, match=TOO_MUCH):
        drained(path, text="text")


def one_long_label() -> np.ndarray:
    labels = np.full(ROWS, "a", object)
    labels[7] = "b" * 1000
    return labels


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "store.arrow"])
def test_one_long_label_does_not_make_room_for_as_long_ones_in_every_row(tmp_path, read, name):
    labels = one_long_label()
    path = tmp_path / name
    if name == "t.csv":
        path.write_text("label,x\n" + "".join(f"{label},1\n" for label in labels))
    elif name == "store.arrow":
        rows = data.ArraySource(sp.csr_matrix(np.ones((ROWS, 1))), labels.astype(str))
        data.write_store(rows, path)
    else:
        write(path, pa.table({"label": labels, "x": np.ones(ROWS)}))
    with pytest.raises(data.DataError, match=TOO_MUCH):
        read(path)


def varint(number: int, length: int = 0) -> bytes:
    """Of a positive number in thrift's compact protocol, at least so long."""
    groups, left = [], number * 2
    while left or not groups or len(groups) < length:
        groups.append(left & 127 | 128)
        left >>= 7
    return bytes([*groups[:-1], groups[-1] & 127])


def test_pages_that_unpack_to_more_than_the_footer_says_are_refused(tmp_path, monkeypatch):
    table = pa.table({"label": np.zeros(500_000, np.int8), "x": np.zeros(500_000)})
    whole = {"data_page_size": 1 << 30, "max_rows_per_page": 500_000, "use_dictionary": False}
    path = write(tmp_path / "bomb.parquet", table, **whole)
    group = pa.parquet.ParquetFile(path).metadata.row_group(0)
    said = [group.total_byte_size] + [group.column(j).total_uncompressed_size for j in (0, 1)]
    bytes_ = path.read_bytes()
    for size in said:
        bytes_ = bytes_.replace(varint(size), varint(100, len(varint(size))))
    path.write_bytes(bytes_)
    group = pa.parquet.ParquetFile(path).metadata.row_group(0)
    assert group.column(1).total_uncompressed_size == 100
    assert drained(path) == 500_000
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "1MB")
    with pytest.raises(data.DataError, match=rf"unpack to 5 MB or more; .* {TOO_MUCH}"):
        drained(path)


@pytest.mark.parametrize("options", [{}, DELTA])
def test_few_rows_are_read_at_a_time_where_each_may_have_a_long_text(tmp_path, options):
    table = pa.table({"label": shared_text(1 << 20, 10).dictionary_decode(), "x": np.ones(10)})
    path = write(tmp_path / "long.parquet", table, **options)
    short = pa.table({"label": shared_text(3, 10).dictionary_decode(), "x": np.ones(10)})
    with pa.OSFile(str(path)) as file:
        assert rows_that_fit("long", file, 8192) <= 256
    with pa.OSFile(str(write(tmp_path / "short.parquet", short, **options))) as file:
        assert rows_that_fit("short", file, 8192) == 8192


@pytest.mark.parametrize("role", ["label", "qid", "sample_weight"])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_lists_for_labels_are_refused_before_they_are_read(tmp_path, read, role, ending):
    columns = {"label": np.arange(4), "x": np.ones(4), role: pa.array([[1] * 1000] * 4)}
    path = write(tmp_path / f"lists.{ending}", pa.table(columns))
    with pytest.raises(data.DataError, match=r"column '\w+' holds list<.*>; expected .*numbers"):
        read(path)


@pytest.mark.parametrize("page_version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "brotli", "lz4", "zstd"])
def test_every_way_of_packing_parquet_is_read(tmp_path, read, compression, page_version):
    rng = np.random.default_rng(0)
    columns = {"label": list("ab") * 1000, "x": rng.random(2000), "z": np.arange(2000) % 3}
    path = tmp_path / "t.parquet"
    options = {"compression": compression, "data_page_version": page_version}
    pa.parquet.write_table(
        pa.table(columns), path, data_page_size=500, row_group_size=700, **options
    )
    rows = read(path)
    assert rows == 2000 or np.array_equal(rows.X[:, 0], columns["x"].astype(np.float32))


# ---------------------------------------------------------------- columns that are encoded

WORDS = " ".join(f"w{i}" for i in range(300))


def encoding_of_text():
    table = pa.table({"text": [f"some words, number {i}" for i in range(50)]})
    return fit(["text"], lambda: batches_of(table), Options())


@pytest.mark.filterwarnings("ignore::maxmargin.data.encoding.places.DataWarning")
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_rows_that_share_a_long_text_are_not_hashed_one_by_one(tmp_path, monkeypatch, ending):
    """A model that knows the column meets a file whose rows have one text in a dictionary."""
    label, text = np.arange(ROWS) % 2, shared_text(1 << 16)
    path = write(tmp_path / f"t.{ending}", pa.table({"label": label, "text": text}))
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "4MB")
    for read in (data.open, drained):
        with pytest.raises(data.DataError, match=rf"column 'text': .* {TOO_MUCH}"):
            read(path, encode=encoding_of_text())


def test_encoded_rows_have_the_limit_of_what_a_file_unpacks_to(tmp_path, monkeypatch):
    texts = pa.array([f"{i} {WORDS}" for i in range(ROWS)])
    path = write(tmp_path / "t.parquet", pa.table({"label": np.arange(ROWS) % 2, "text": texts}))
    assert path.stat().st_size < 50_000
    monkeypatch.setenv("MAXMARGIN_MAX_UNPACKED", "3MB")  # the text has 1.5 MB, its features 5
    with pytest.raises(data.DataError, match=rf"t\.parquet: .* {TOO_MUCH}"):
        data.open(path, encode="auto")
    monkeypatch.delenv("MAXMARGIN_MAX_UNPACKED")
    assert data.open(path, encode="auto").X.shape[0] == ROWS
