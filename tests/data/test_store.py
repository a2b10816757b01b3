"""The row store: what goes in comes out, others can read it, and no fault passes unseen."""

import json
import os
import threading
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest
import scipy.sparse as sp

from maxmargin import _core, data
from maxmargin.data import DataError
from maxmargin.data.store.description import KEY


def rows(n=500, d=30, *, sparse=True, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)).astype(dtype)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return (sp.csr_matrix(X) if sparse else X), y


def whole(source):
    """All blocks of a source put together."""
    blocks = list(source.blocks())
    assert [b.first for b in blocks] == np.cumsum([0] + [b.n for b in blocks[:-1]]).tolist()
    assert sum(b.n for b in blocks) == source.n
    join = sp.vstack if source.kind == "csr" else np.concatenate
    if source.kind == "strings":
        X = [bytes(b.X.letters[i:j]) for b in blocks for i, j in zip(b.X.starts, b.X.starts[1:])]
    else:
        X = join([b.X for b in blocks])
        X = X.toarray() if sp.issparse(X) else X
    metadata = [
        None if parts[0] is None else np.concatenate(parts)
        for parts in zip(*((b.y, b.weight, b.qid) for b in blocks))
    ]
    return X, *metadata


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.arrow"


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_back_as_they_were(path, sparse, dtype, compression, mapped):
    X, y = rows(sparse=sparse, dtype=dtype)
    weight, qid = np.linspace(0, 2, len(y)), np.arange(len(y)) // 7
    source = data.ArraySource(X, y, weight=weight, qid=qid)
    data.write_store(source, path, compression=compression, block_bytes=4096)
    store = data.open_source(path, mapped=mapped)
    assert (store.n, store.d, store.kind) == (500, 30, "csr" if sparse else "dense")
    assert len(list(store.blocks())) > 3
    found, labels, weights, queries = whole(store)
    assert found.dtype == dtype
    assert np.array_equal(found, X.toarray() if sparse else X)
    assert np.array_equal(labels, y)
    assert np.array_equal(weights, weight)
    assert np.array_equal(queries, qid)


@pytest.mark.parametrize(
    "y",
    [
        np.array([1.5, -2.0, 3.0]),
        np.array([3, 1, 2]),
        np.array([True, False, True]),
        np.array(["cat", "dog", "é"]),
    ],
    ids=["numbers", "whole", "bool", "words"],
)
def test_labels_keep_their_kind(path, y):
    data.write_store(data.ArraySource(np.eye(3), y), path)
    (block,) = data.open_source(path).blocks()
    assert block.y.dtype.kind == y.dtype.kind
    assert block.y.tolist() == y.tolist()


def test_rows_may_have_no_labels(path):
    data.write_store(data.ArraySource(np.eye(3)), path)
    (block,) = data.open_source(path).blocks()
    assert block.y is None


def test_strings_come_back_as_they_were(path):
    texts = ["GATTACA", "", "TACCA", "käse"]
    data.write_store(data.ArraySource(texts, np.arange(4)), path, block_bytes=8)
    store = data.open_source(path)
    assert store.kind == "strings"
    assert store.d == 0
    assert whole(store)[0] == [text.encode() for text in texts]


def test_wide_rows_need_wide_indices(path):
    d = 2**31 + 5
    X = sp.csr_array((np.ones(2), np.array([3, d - 1]), np.array([0, 1, 2])), shape=(2, d))
    data.write_store(data.ArraySource(X, np.array([1, -1])), path)
    (block,) = data.open_source(path).blocks()
    assert block.X.indices.tolist() == [3, d - 1]
    assert block.X.shape == (2, d)


def test_mapped_blocks_are_views_of_the_file(path):
    X, y = rows(sparse=False)
    data.write_store(data.ArraySource(X, y), path)
    (block,) = data.open_source(path, mapped=True).blocks()
    assert not block.X.flags.owndata
    assert not block.X.flags.writeable


def test_dtype_can_be_changed_on_the_way(path):
    X, y = rows(dtype=np.float64)
    data.write_store(data.ArraySource(X, y), path, dtype="float32")
    (block,) = data.open_source(path).blocks()
    assert block.X.dtype == np.float32
    with pytest.raises(DataError, match="float32 cannot hold; write float64"):
        data.write_store(data.ArraySource(X * 1e300, y), path, dtype="float32")


@pytest.mark.parametrize("share, kind", [(0.9, "dense"), (0.3, "csr")])
def test_text_is_written_in_the_form_that_takes_fewer_bytes(tmp_path, path, share, kind):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(400, 8)) * (rng.random((400, 8)) < share)).astype(np.float32)
    X[0] = 1.0
    given = data.Dataset(X, np.arange(400.0), qid=np.arange(400) // 7)
    data.save(given, tmp_path / "rows.svm")
    data.write_store(data.open_source(tmp_path / "rows.svm"), path, block_bytes=1 << 12)
    store = data.open_source(path)
    assert store.kind == kind
    found, y, weight, qid = whole(store)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(y, given.y)
    np.testing.assert_array_equal(qid, given.qid)
    assert weight is None


@pytest.mark.parametrize("pieces", [1, 7])
def test_shuffling_keeps_every_row_and_depends_on_the_seed_alone(path, monkeypatch, pieces):
    from maxmargin.data.store import shuffling

    n = 3000
    X = np.arange(n, dtype=np.float64)[:, None]
    source = data.ArraySource(X, np.arange(n), block_bytes=2000)
    if pieces > 1:
        monkeypatch.setattr(shuffling, "PIECE_BYTES", 8000)
        monkeypatch.setattr(shuffling, "BUFFERED_BYTES", 5000)
    orders = []
    for seed in (0, 0, 1):
        data.write_store(source, path, shuffle=True, seed=seed, block_bytes=3000)
        found, labels, *_ = whole(data.open_source(path))
        assert np.array_equal(found.ravel(), labels)
        orders.append(labels)
    assert np.array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])
    assert np.array_equal(np.sort(orders[0]), np.arange(n))
    # A random order has about as many rises as falls, and moves rows by n / 3 on average.
    assert 0.45 < np.mean(np.diff(orders[0]) > 0) < 0.55
    assert 0.3 < np.mean(np.abs(orders[0] - np.arange(n))) / n < 0.37
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_pyarrow_reads_a_store_as_a_table(path):
    X, y = rows(n=50)
    data.write_store(data.ArraySource(X, y), path, block_bytes=500)
    table = pa.ipc.open_file(path).read_all()
    assert table.column_names == ["label", "indices", "values"]
    assert table.num_rows == 50
    assert table["label"].to_pylist() == y.tolist()
    assert table["indices"][3].as_py() == X[3].indices.tolist()
    told = json.loads(table.schema.metadata[KEY])
    assert told["format"] == "maxmargin row store"
    assert (told["version"], told["features"]) == (1, 30)


def test_polars_reads_a_store_as_a_table(path):
    polars = pytest.importorskip("polars")
    X, y = rows(n=50, sparse=False)
    data.write_store(data.ArraySource(X, y), path, block_bytes=500)
    table = polars.read_ipc(path)
    assert table["label"].to_list() == y.tolist()
    assert np.allclose(table["x"].to_list(), X)


def test_duckdb_reads_a_store_as_a_table(path):
    duckdb = pytest.importorskip("duckdb")
    X, y = rows(n=50)
    data.write_store(data.ArraySource(X, y), path, block_bytes=500)
    connection = duckdb.connect()
    connection.register("rows", pa.ipc.open_file(path).read_all())
    query = "select count(*), sum(label), sum(len(indices)) from rows"
    assert connection.sql(query).fetchall() == [(50, y.sum(), X.nnz)]


def test_a_store_is_read_into_memory_too(path):
    X, y = rows()
    qid = np.arange(len(y)) // 5
    data.write_store(data.ArraySource(X, y, qid=qid, weight=np.ones(len(y))), path, block_bytes=999)
    found = data.open(path)
    assert (found.X != X).nnz == 0
    assert found.X.dtype == np.float32
    assert np.array_equal(found.y, y)
    assert np.array_equal(found.qid, qid)
    assert found.weight.sum() == len(y)
    assert data.open(path, dtype="float64").X.dtype == np.float64
    with pytest.raises(DataError, match="a row store, which has no use for it"):
        data.open(path, target="label")


def test_the_same_rows_give_the_same_file(tmp_path):
    X, y = rows()
    for name in ("a", "b"):
        data.write_store(data.ArraySource(X, y), tmp_path / name, shuffle=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# ---------------------------------------------------------------- faults


@pytest.fixture
def stored(path):
    X, y = rows(n=2000)
    data.write_store(data.ArraySource(X, y), path, block_bytes=9000)
    return path


def test_a_cut_off_store_is_refused(stored):
    whole = stored.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 600):
        stored.write_bytes(whole[:size])
        for read in (data.open_source, data.open):
            with pytest.raises(DataError, match=r"rows.arrow: the row store is damaged or incompl"):
                read(stored)


def test_a_damaged_block_is_named(stored):
    source = data.open_source(stored)
    bad = bytearray(stored.read_bytes())
    bad[len(bad) // 2] ^= 1
    stored.write_bytes(bad)
    message = r"rows.arrow: block \d+ of \d+ \(bytes \d+ to \d+\) is damaged: its checksum is"
    with pytest.raises(DataError, match=message):
        list(data.open_source(stored).blocks())
    with pytest.raises(DataError, match=message):
        list(data.open_source(stored, mapped=True).blocks())
    with pytest.raises(DataError, match=message):
        data.open(stored)
    with pytest.raises(DataError, match="changed while it was in use"):
        list(source.blocks())


def test_no_flipped_bit_goes_unnoticed(path):
    X, y = rows(n=40, d=4)
    data.write_store(data.ArraySource(X, y), path, block_bytes=300)
    good = path.read_bytes()
    expected = whole(data.open_source(path))
    rng = np.random.default_rng(0)
    for at in rng.integers(0, len(good), 300).tolist():
        bad = bytearray(good)
        bad[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        try:
            found = whole(data.open_source(path))
        except DataError:
            continue
        assert np.array_equal(found[0], expected[0])  # a bit that says nothing: padding
        assert np.array_equal(found[1], expected[1])


def test_a_store_that_shrinks_while_it_is_read_is_noticed(stored):
    blocks = data.open_source(stored).blocks()
    next(blocks)
    os.truncate(stored, stored.stat().st_size // 3)
    with pytest.raises(DataError, match=r"ends too early|changed while it was in use"):
        list(blocks)


def test_a_store_replaced_while_it_is_in_use_is_noticed(stored):
    source = data.open_source(stored)
    list(source.blocks())
    copy = stored.with_name("copy.arrow")
    copy.write_bytes(stored.read_bytes())
    os.replace(copy, stored)
    with pytest.raises(DataError, match="changed while it was in use: it was written to or replac"):
        source.check_unchanged()
    assert data.open_source(stored).fingerprint == source.fingerprint  # the content is the same


def test_a_newer_version_is_refused(stored, monkeypatch):
    from maxmargin.data.store import description

    monkeypatch.setattr(description, "VERSION", 0)
    with pytest.raises(DataError, match="is a row store of version 1; expected at most 0; update"):
        data.open_source(stored)


def test_a_failed_conversion_leaves_nothing(path):
    X, y = rows()

    class Failing(data.ArraySource):
        def blocks(self):
            yield from list(super().blocks())[:2]
            raise DataError("the rows end in tears")

    for shuffle in (False, True):
        with pytest.raises(DataError, match="in tears"):
            data.write_store(Failing(X, y, block_bytes=2000), path, shuffle=shuffle)
        assert list(path.parent.iterdir()) == []


def test_rows_of_different_columns_are_refused(path):
    from maxmargin.data.stream.joined_source import JoinedSource

    X = np.eye(3, dtype=np.float32)
    first = data.ArraySource(X, np.arange(3))
    for other in (
        data.ArraySource(X, np.array(["a", "b", "c"])),
        data.ArraySource(X.astype(np.float64), np.arange(3)),
        data.ArraySource(X, np.arange(3), qid=np.arange(3)),
    ):
        with pytest.raises(DataError, match=r"row 4 and those after it have columns .* expected"):
            data.write_store(JoinedSource([first, other]), path)
    assert not path.exists()


def test_a_store_without_its_summary_is_refused(path):
    X, y = rows(n=20)
    data.write_store(data.ArraySource(X, y), path)
    with pa.ipc.open_file(path) as reader:
        schema, batch = reader.schema, reader.get_batch(0)
    for batches in ([], [batch]):
        with pa.ipc.new_file(path, schema) as writer:
            for each in batches:
                writer.write_batch(each)
        with pytest.raises(DataError, match=r"damaged or incomplete|its summary is missing"):
            data.open_source(path)


def test_threads_of_readers_end(stored):
    before = threading.active_count()
    blocks = data.open_source(stored).blocks()
    next(blocks)
    blocks.close()
    assert threading.active_count() == before
    assert sum(b.n for b in data.open_source(stored).blocks()) == 2000
    assert threading.active_count() == before


def test_checksums_are_crc32c():
    check = np.frombuffer(b"123456789", np.uint8)
    assert _core.crc32c(check) == 0xE3069283  # the check value of the standard
    rng = np.random.default_rng(0)
    bytes_ = rng.integers(0, 256, 1000).astype(np.uint8)
    for cut in (0, 1, 7, 8, 9, 500, 1000):
        for part in (bytes_[cut:], bytes_[:cut]):
            assert _core.crc32c(part) == _core.crc32c_by_tables(part)
        assert _core.crc32c(bytes_[cut:], _core.crc32c(bytes_[:cut])) == _core.crc32c(bytes_)
    assert _core.crc32c(bytes_) != zlib.crc32(bytes_.tobytes())


def test_a_block_that_says_it_is_the_end_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "s.arrow"
    monkeypatch.setattr(_core, "crc32c", lambda *_: 0)  # as if whoever wrote it had meant it
    data.write_store(data.ArraySource(np.eye(4), np.array([1, -1, 1, -1])), path)
    begin = data.open_source(path)._store.spans[0].message.begin
    content = bytearray(path.read_bytes())
    content[begin + 4 : begin + 8] = bytes(4)  # a length of 0 ends a stream of Arrow messages
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"s\.arrow: block 1 of 1.* cannot be read"):
        data.open(path)
