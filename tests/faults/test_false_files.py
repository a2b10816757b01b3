"""Data files with false content behind right checksums: refused in a sentence naming the file."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from maxmargin import StreamSVC, data
from maxmargin.cli.main import app
from maxmargin.data.store.description import Description, Summary, type_names
from maxmargin.data.store.writing import _write


def drained(path, **options) -> int:
    return sum(block.n for block in data.open_source(path, **options).blocks())


READERS = {"open": data.open, "open_source": drained}


@pytest.fixture(params=READERS)
def read(request):
    return READERS[request.param]


# ---------------------------------------------------------------- row stores


def lists(offsets, values, n: int) -> pa.Array:
    """Lists with whatever offsets; Arrow believes them."""
    kind = pa.list_(values.type)
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32))]
    return pa.Array.from_buffers(kind, n, buffers, children=[values])


def write_store(path, columns, kind, features, *, compression=None, shape=(), **lies) -> None:
    plain = pa.schema([pa.field(name, column.type) for name, column in columns.items()])
    described = Description(kind, features, columns=type_names(plain), **dict(shape))
    schema = plain.with_metadata(described.pack())
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)
    true = {"rows": 3, "entries": 4, "labels": [[-1.0, 1], [1.0, 2]]}
    summary = Summary(**{**true, "description": described.checksum, **lies})
    with open(path, "wb") as file:
        _write([batch], schema, file, summary, compression)


FALSE_STORES = {
    "column outside": {"rows": ((0, 3), (1,), (0,))},
    "column negative": {"rows": ((-1, 2), (1,), (0,))},
    "columns out of order": {"rows": ((2, 0), (1,), (0,))},
    "starts decrease": {"offsets": [0, 3, 2, 4]},
    "starts negative": {"offsets": [0, -5, 3, 4]},
    "starts begin late": {"offsets": [1, 2, 3, 4]},
    "fewer rows than it holds": {"rows_said": 2},
    "more rows than it holds": {"rows_said": 4},
    "absurdly many rows": {"rows_said": 1 << 61},
    "more rows than numbers go": {"rows_said": 1 << 70},
    "labels it does not have": {"labels_said": [[-1.0, 1], [2.0, 2]]},
    "labels counted wrong": {"labels_said": [[-1.0, 2], [1.0, 1]]},
    "labels that are no pairs": {"labels_said": [1.0, -1.0]},
    "labels left out": {"labels_said": []},
}


@pytest.mark.parametrize("fault", FALSE_STORES)
def test_a_store_with_right_checksums_and_false_content_is_refused(tmp_path, read, fault):
    said = dict(FALSE_STORES[fault])
    lies = {key.removesuffix("_said"): said.pop(key) for key in list(said) if "_said" in key}
    store = tmp_path / "false.arrow"
    write_false(store, said, lies)
    with pytest.raises(data.DataError, match=r"false\.arrow"):
        read(store)


def write_false(store, said: dict, lies: dict) -> None:
    indices = [j for row in said.get("rows", ((0, 2), (1,), (0,))) for j in row]
    starts = said.get("offsets", [0, 2, 3, 4])
    columns = {
        "label": pa.array([1.0, -1.0, 1.0]),
        "indices": lists(starts, pa.array(indices, pa.int32()), 3),
        "values": lists(starts, pa.array(np.ones(len(indices), np.float32)), 3),
    }
    write_store(store, columns, "csr", 3, **lies)


def test_the_store_that_says_the_truth_is_read(tmp_path, read):
    write_false(tmp_path / "true.arrow", {}, {})
    rows = read(tmp_path / "true.arrow")
    assert rows == 3 or rows.X.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_false_labels_of_a_store_certify_nothing(tmp_path):
    store = tmp_path / "false.arrow"
    write_false(store, {}, {"labels": [[-1.0, 1], [1.0, 200]]})
    with pytest.raises(ValueError, match="other labels than its summary says"):
        StreamSVC().fit(store)


def test_labels_of_a_store_that_lie_outside_their_text_are_refused(tmp_path, read):
    offsets = pa.py_buffer(np.array([0, 3, -(10**6), 3], np.int32))
    label = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")])
    columns = {
        "label": label,
        "x": pa.FixedSizeListArray.from_arrays(pa.array(np.ones(6, "f4")), 2),
    }
    lies = {"entries": 6, "labels": [["a", 3]]}
    write_store(tmp_path / "false.arrow", columns, "dense", 2, **lies)
    with pytest.raises(data.DataError, match=r"false\.arrow"):
        read(tmp_path / "false.arrow")


@pytest.mark.parametrize("kind", ["dense", "csr", "strings", "cubes"])
def test_a_store_of_another_kind_than_its_columns_is_refused(tmp_path, read, kind):
    columns = {"label": pa.array([1.0, 2.0, 1.0]), "other": pa.array([1, 2, 3])}
    write_store(tmp_path / "false.arrow", columns, kind, 1)
    with pytest.raises(data.DataError, match=r"false\.arrow: its description makes no sense"):
        read(tmp_path / "false.arrow")


def test_a_store_whose_description_is_nested_without_end_is_refused(tmp_path, read):
    schema = pa.schema([("x", pa.float32())], metadata={b"maxmargin": b"[" * 10**6})
    with pa.ipc.new_file(tmp_path / "deep.arrow", schema):
        pass
    with pytest.raises(data.DataError, match=r"deep\.arrow"):
        read(tmp_path / "deep.arrow")


# ---------------------------------------------------------------- tables


def write_arrow(path, columns, **options) -> None:
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    with pa.ipc.new_file(path, batch.schema, **options) as writer:
        writer.write_batch(batch)


def false_columns() -> dict[str, pa.Array]:
    three = pa.array([0, 1, 2], pa.int8())
    beyond = pa.array([0, 100, 1], pa.int8())
    negative = pa.array([0, -100, 1], pa.int8())
    numbers = pa.array([1.0, 2.0, 3.0])
    offsets = pa.py_buffer(np.array([0, 2, -7, 3], np.int32))
    return {
        "index beyond the dictionary": pa.DictionaryArray.from_arrays(beyond, numbers, safe=False),
        "negative index": pa.DictionaryArray.from_arrays(negative, numbers, safe=False),
        "label beyond": pa.DictionaryArray.from_arrays(beyond, pa.array(list("abc")), safe=False),
        "strings outside": pa.Array.from_buffers(
            pa.string(), 3, [None, offsets, pa.py_buffer(b"abc")]
        ),
        "no UTF-8": pa.Array.from_buffers(
            pa.string(),
            3,
            [None, pa.py_buffer(np.arange(4, dtype=np.int32)), pa.py_buffer(b"\xff\xfe\xfd")],
        ),
        "null": pa.nulls(3),
        "fine": pa.DictionaryArray.from_arrays(three, numbers),
    }


@pytest.mark.parametrize("fault", [fault for fault in false_columns() if fault != "fine"])
@pytest.mark.parametrize("command", ["info", "convert", "train"])
def test_false_columns_of_an_arrow_file_are_a_sentence(tmp_path, fault, command):
    column = false_columns()[fault]
    numeric = not pa.types.is_string(getattr(column.type, "value_type", column.type))
    names = ("label", "x") if not numeric else ("x", "label")
    other = pa.array([1.0, -1.0, 1.0])
    columns = dict(zip(names, (column, other)))
    write_arrow(tmp_path / "false.arrow", columns)
    out = {"info": [], "convert": ["out.csv"], "train": ["out.model"]}[command]
    arguments = [command, str(tmp_path / "false.arrow"), *(str(tmp_path / name) for name in out)]
    done = CliRunner().invoke(app, arguments)
    assert "false.arrow" in done.output
    if (command, fault) == ("info", "null"):  # a table may have an empty column
        assert "left out, no value in any row" in done.output
        return
    assert done.exit_code == 1, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


@pytest.mark.parametrize("fault", [fault for fault in false_columns() if fault != "fine"])
def test_false_columns_of_an_arrow_file_are_a_data_error(tmp_path, read, fault):
    column = false_columns()[fault]
    is_text = pa.types.is_string(getattr(column.type, "value_type", column.type))
    names = ("label", "x") if is_text else ("x", "label")
    write_arrow(tmp_path / "f.arrow", dict(zip(names, (column, pa.array([1.0, -1.0, 1.0])))))
    with pytest.raises(data.DataError, match=r"f\.arrow"):
        read(tmp_path / "f.arrow")


def tables(folder) -> dict[str, bytes]:
    """A small file of each binary format."""
    table = pa.table({"label": ["a", "b"] * 20, "x": np.arange(40.0), "y1": np.arange(40) % 3})
    pa.parquet.write_table(table, folder / "t.parquet", compression="zstd")
    with pa.ipc.new_file(folder / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    rows = data.ArraySource(np.eye(5, dtype=np.float32), np.array([1, 2, 1, 2, 1]))
    data.write_store(rows, folder / "store.arrow")
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "store.arrow"])
def test_damage_anywhere_is_a_data_error_or_harmless(tmp_path, name):
    whole = tables(tmp_path)[name]
    rng = np.random.default_rng(1)
    path = tmp_path / f"damaged-{name}"
    for trial in range(150):
        bytes_ = bytearray(whole)
        if trial % 5 == 0:
            del bytes_[int(rng.integers(len(bytes_))) :]
        for _ in range(int(rng.integers(1, 4))):
            if bytes_:
                bytes_[int(rng.integers(len(bytes_)))] = int(rng.integers(256))
        path.write_bytes(bytes(bytes_))
        for read in READERS.values():
            try:
                read(path)
            except data.DataError as error:
                assert str(path) in str(error)


# ---------------------------------------------------------------- text


def test_a_byte_order_mark_before_a_comment_is_no_row(tmp_path):
    path = tmp_path / "marked.svm"
    path.write_bytes(b"\xef\xbb\xbf# made elsewhere\n1 1:2\n-1 2:1\n1 1:1\n-1 2:3\n")
    assert data.open(path).X.shape == (4, 2)
    assert data.open_source(path).n == 4
    assert StreamSVC().fit(path).predict(path).tolist() == [1, -1, 1, -1]


def test_a_byte_order_mark_is_at_the_beginning_only(tmp_path, read):
    path = tmp_path / "marked.svm"
    path.write_bytes(b"1 1:2\n" * 1_000_000 + b"\xef\xbb\xbf1 1:2\n")
    with pytest.raises(data.DataError, match=r"marked\.svm:1000001: found label"):
        read(path)


def test_fasta_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "marked.fasta"
    path.write_bytes(b"\xef\xbb\xbf>one label=1\nACGT\n>two label=-1\nGGTT\n")
    assert data.open_source(path).n == 2


@pytest.mark.parametrize(
    "text",
    [
        b">one label=1\n>two label=-1\nACGT\n",
        b"ACGT\n>one label=1\nACGT\n",
        b">one label=1\nAC\x00GT\n",
        b">one label=1\nACGT\n>",
    ],
)
def test_fasta_that_makes_no_sense_names_its_line(tmp_path, text):
    path = tmp_path / "false.fasta"
    path.write_bytes(text)
    with pytest.raises(data.DataError, match=r"false\.fasta"):
        drained(path, format="fasta")


def test_info_describes_strings(tmp_path):
    path = tmp_path / "some.fasta"
    path.write_bytes(b">one label=1\nACGT\n>two label=-1\nGGTTA\n")
    done = CliRunner().invoke(app, ["info", str(path), "--json"])
    facts = json.loads(done.stdout)
    assert (facts["kind"], facts["rows"], facts["letters"]) == ("strings", 2, 9)
    assert facts["labels"] == [[-1, 1], [1, 1]]
