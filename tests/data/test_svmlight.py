"""svmlight text: what is read, what is refused and how, and that it does not depend on threads."""

from __future__ import annotations

import io
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin import _core, data


def read(text: str | bytes, **options) -> data.Dataset:
    content = text.encode() if isinstance(text, str) else text
    return data.open(io.BytesIO(content), format="svmlight", **options)


def assert_same(found: data.Dataset, expected: data.Dataset) -> None:
    assert found.X.shape == expected.X.shape
    for name in ("data", "indices", "indptr"):
        left, right = getattr(found.X, name), getattr(expected.X, name)
        assert left.tobytes() == right.astype(left.dtype).tobytes(), name
    assert found.X.dtype == expected.X.dtype
    np.testing.assert_array_equal(found.y, expected.y)
    assert (found.qid is None) == (expected.qid is None)
    if found.qid is not None:
        np.testing.assert_array_equal(found.qid, expected.qid)


def random_rows(n: int, d: int, density: float, seed: int = 0, dtype=np.float64) -> data.Dataset:
    draw = np.random.default_rng(seed)
    X = sp.random(n, d, density, "csr", rng=draw, data_rvs=draw.standard_normal).astype(dtype)
    X.sort_indices()
    return data.Dataset(X, draw.integers(-3, 4, n).astype(float))


def as_text(dataset: data.Dataset, tmp_path, **options) -> bytes:
    data.save(dataset, tmp_path / "saved.svm", **options)
    return (tmp_path / "saved.svm").read_bytes()


# ------------------------------------------------------------------ what is read


def test_labels_values_and_comments():
    rows = read("# head\n+1 1:0.5 3:-2e1 # tail 9:9\n\n  \t\n-1\n1e3\t2:1#x\n-0.5 1:.5 2:1. 3:+3")
    assert rows.y.tolist() == [1, -1, 1000, -0.5]
    assert rows.X.toarray().tolist() == [[0.5, 0, -20], [0, 0, 0], [0, 1, 0], [0.5, 1, 3]]
    assert rows.X.dtype == np.float32
    assert rows.X.indices.dtype == np.int32
    assert rows.index_base == 1
    assert rows.qid is None


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\t\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_of_every_kind(end, last):
    text = end.join(["1 1:1 2:2", "", "-1 2:3"]) + (end if last else "")
    assert_same(read(text), read("1 1:1 2:2\n-1 2:3\n"))


def test_byte_order_mark_is_skipped():
    assert read(b"\xef\xbb\xbf1 1:2\n").y.tolist() == [1]


def test_query_numbers():
    rows = read("2 qid:10 1:1\n# a comment\n1 qid:10\n0 qid:-3 2:1 # doc = 7\n")
    assert rows.qid.tolist() == [10, 10, -3]
    assert rows.qid.dtype == np.int64
    assert rows.X.toarray().tolist() == [[1, 0], [0, 0], [0, 1]]


def test_index_base_is_found_or_obeyed():
    assert read("1 1:1 3:1\n").X.toarray().tolist() == [[1, 0, 1]]
    rows = read("1 1:1 3:1\n1 0:5\n")
    assert rows.index_base == 0
    assert rows.X.toarray().tolist() == [[0, 1, 0, 1], [5, 0, 0, 0]]
    rows = read("1 1:1 3:1\n", zero_based=True)
    assert rows.index_base == 0
    assert rows.X.toarray().tolist() == [[0, 1, 0, 1]]
    assert read("1 1:1\n", zero_based=False).index_base == 1


def test_number_of_features_can_be_given():
    assert read("1 1:1\n", n_features=5).X.shape == (1, 5)
    assert read("1 0:1\n", n_features=1).X.shape == (1, 1)
    assert read("1\n-1\n", n_features=5).X.shape == (2, 5)


def test_zeros_in_the_file_are_kept():
    assert read("1 1:0 2:-0.0 3:1\n").X.nnz == 3


def test_wide_indices_take_int64_only_where_needed():
    assert read("1 2147483646:1\n").X.indices.dtype == np.int32
    for text in ("1 1:2\n1 2147483648:1\n", "1 1:1 9000000000:2\n", "1 0:1 3000000000:1\n"):
        X = read(text).X
        assert X.indices.dtype == X.indptr.dtype == np.int64
        assert X.nnz == 2
    X = read("1 1:2\n1 9000000000:1\n").X
    assert X.shape == (2, 9_000_000_000)
    assert X.indices.tolist() == [0, 8_999_999_999]
    assert read("1 1:1\n", n_features=2**31).X.indices.dtype == np.int64


def test_a_fault_is_found_also_where_indices_are_wide():
    with pytest.raises(data.DataError, match=":2: found index 1 after index 5"):
        read("1 9000000000:1\n1 5:1 1:1\n")


# ------------------------------------------------------------------ what is refused, and where

BAD = {
    "label that is no number": ("1 1:1\nspam 1:1\n", 2, "found label 'spam'"),
    "label nan": ("nan 1:1\n", 1, "found label 'nan'; expected a finite number"),
    "label inf": ("1 1:1\n\n# c\n-inf 1:1\n", 4, "found label '-inf'"),
    "label too large": ("1e999 1:1\n", 1, "found label '1e999'"),
    "several labels": ("1,3 1:1\n", 1, "several labels a row are not supported"),
    "no label": ("1:1 2:1\n", 1, "expected a label before the features"),
    "index goes back": ("1 1:1\n1 5:1 3:1\n", 2, "found index 3 after index 5"),
    "index repeated": ("1 5:1 5:1\n", 1, "found index 5 after index 5"),
    "value missing": ("1 1:1 2:\n", 1, "found '2:'; expected index:value"),
    "value a word": ("1 1:one\n", 1, "found '1:one'"),
    "value nan": ("1 1:nan\n", 1, "found '1:nan'; expected a finite value"),
    "value inf": ("1 1:1\n1 1:inf", 2, "found '1:inf'; expected a finite value"),
    "two colons": ("1 1:2:3\n", 1, "found '1:2:3'"),
    "index missing": ("1 :3\n", 1, "found ':3'"),
    "index negative": ("1 -1:3\n", 1, "found '-1:3'"),
    "index a word": ("1 cost:3\n", 1, "found 'cost:3'"),
    "index a fraction": ("1 1.5:3\n", 1, "found '1.5:3'"),
    "index absurd": ("1 1234567890123456789:1\n", 1, "found '1234567890123456789:1'"),
    "no colon": ("1 1:1 2\n", 1, "found '2'; expected index:value"),
    "blank after colon": ("1 1: 2\n", 1, "found '1:'"),
    "last token cut off after the index": ("1 1:1 2:1\n1 1:1 2", 2, "found '2'"),
    "last token cut off after the colon": ("1 1:1 2:1\n1 1:1 2:", 2, "found '2:'"),
    "last token cut off after the sign": ("1 1:1 2:1\n1 1:1 2:-", 2, "found '2:-'"),
    "last token cut off in the exponent": ("1 1:1 2:1\n1 1:1 2:1e", 2, "found '2:1e'"),
    "qid not on all rows": ("1 qid:1 1:1\n1 1:1\n", 2, "give every row a qid, or none"),
    "qid not on the first row": ("1 1:1\n1 qid:1 1:1\n", 2, "a qid stands right after the label"),
    "qid no number": ("1 qid:a 1:1\n", 1, "found 'qid:a'"),
    "qid absurd": ("1 qid:99999999999999999999 1:1\n", 1, "found 'qid:9999"),
    "bytes that are no text": (b"1 1:1\n\xff\xfe\x00 1:1\n", 2, r"found label '\xff\xfe\x00'"),
}


def test_lines_may_end_in_a_carriage_return_alone():
    assert_same(read("1 1:1\r-1 2:1\r"), read("1 1:1\n-1 2:1\n"))


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_line_what_was_found_and_the_remedy(name):
    text, line, found = BAD[name]
    with pytest.raises(data.DataError) as raised:
        read(text)
    message = str(raised.value)
    assert message.startswith(f"stream:{line}: ")
    assert found in message
    assert "expected" in message


def test_a_long_token_is_shown_in_part():
    with pytest.raises(data.DataError) as raised:
        read("1 " + "x" * 10_000)
    assert len(str(raised.value)) < 300


def test_index_zero_in_a_file_said_to_count_from_one():
    with pytest.raises(data.DataError, match=r"stream:3: found index 0; expected indices from 1"):
        read("1 1:1\n# comment\n1 0:1\n", zero_based=False)


def test_index_beyond_the_number_of_features():
    with pytest.raises(data.DataError, match=r"stream:4: found index 7; expected 6 features"):
        read("1 1:1\n\n\n1 2:1 7:1\n1 9:1\n", n_features=6)
    with pytest.raises(data.DataError, match="found index 6; expected 6 features numbered from 0"):
        read("1 0:1\n1 6:1\n", n_features=6)


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "  # and blanks\n\t\n"])
def test_no_rows_at_all(text):
    with pytest.raises(data.DataError, match="expected at least one"):
        read(text)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_first_fault_of_a_long_file_is_the_one_reported(threads):
    lines = ["1 1:0.25 2:0.5 3:0.75"] * 200_000
    lines[70_001] = "1 2:1 1:1"
    lines[150_000] = "spam"
    with pytest.raises(data.DataError, match="stream:70002: found index 1 after index 2"):
        read("\n".join(lines), threads=threads)


# ------------------------------------------------------------------ pieces and threads


@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_result_does_not_depend_on_the_number_of_threads(threads, dtype, tmp_path):
    text = as_text(random_rows(20_000, 300, 0.02), tmp_path)
    assert len(text) > 1 << 20  # several pieces
    assert_same(read(text, threads=threads, dtype=dtype), read(text, threads=1, dtype=dtype))


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("threads", [1, 3])
def test_gaps_between_pieces_are_closed(base, threads):
    """Comments with colons, blank lines and qids make every piece smaller than it was taken for."""
    draw = np.random.default_rng(1)
    plain, adorned = [], []
    for i in range(30_000):
        entries = " ".join(
            f"{j}:{draw.integers(1, 9)}" for j in np.flatnonzero(draw.random(8) < 0.5) + base
        )
        plain.append(f"{i} qid:{i // 7} {entries}")
        adorned.append(f"{i}  qid:{i // 7}\t{entries} # a:b 1:2 :::")
        if i % 3 == 0:
            adorned.append("# 1 1:1" if i % 2 else " ")
    expected = read("\n".join(plain), threads=1)
    found = read("\n".join(adorned), threads=threads)
    assert found.index_base == expected.index_base == base
    assert found.qid.tolist() == [i // 7 for i in range(30_000)]
    assert found.y.tolist() == list(range(30_000))
    assert_same(found, expected)


def test_one_line_longer_than_a_piece():
    values = np.random.default_rng(0).standard_normal(60_000)
    line = " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(values.tolist()))
    rows = read(f"1 1:1\n-1 {line}\n1 2:1", dtype="float64", threads=2)
    assert rows.X.shape == (3, 60_000)
    assert rows.X[1].toarray().ravel().tobytes() == values.tobytes()
    assert rows.y.tolist() == [1, -1, 1]


def test_plain_files_are_read_where_they_lie_whatever_their_size(tmp_path):
    """A file that fills its last page has no byte after its end."""
    path = tmp_path / "page.svm"
    for size in (4096, 8192, 4095, 4097):
        n = size // 6 - 1
        text = "1 1:1\n" * n + "#" * (size - 6 * n)
        for whole in (text, text[:-6] + "\n1 1:1"):
            path.write_text(whole)
            assert path.stat().st_size == size
            assert data.open(path).X.sum() == whole.count(":")


def test_interrupt_ends_the_reading():
    text = b"1 1:0.123456 2:0.123456 3:0.123456\n" * 3_000_000
    timer = threading.Timer(0.02, lambda: signal.raise_signal(signal.SIGINT))
    stop = _core.Stop()
    stop.interrupt()
    with pytest.raises(_core.Stopped):
        _core.read_svmlight_float32(np.frombuffer(text, np.uint8), None, None, _core.Pool(1, stop))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            read(text)
    timer.join()


# ------------------------------------------------------------------ agreement and round trips


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agreement_with_scikit_learn_on_random_files(zero_based, dtype, tmp_path):
    for seed in range(3):
        rows = random_rows(500, 40, 0.1, seed, dtype)
        rows.X = sp.vstack([sp.csr_matrix(np.ones((1, 40), dtype)), rows.X[1:]], "csr")
        qid = np.sort(np.random.default_rng(seed).integers(0, 50, 500))
        path = tmp_path / f"{seed}.svm"
        dump_svmlight_file(
            rows.X, rows.y, str(path), zero_based=zero_based, query_id=qid, comment="a\nb"
        )
        X, y, q = load_svmlight_file(str(path), dtype=dtype, query_id=True)
        found = data.open(path, dtype=dtype)
        assert found.index_base == int(not zero_based)
        assert_same(found, data.Dataset(X, y, qid=q))


def test_agreement_with_scikit_learn_on_the_bundled_rows(tmp_path):
    train, _ = data.load_demo()
    path = tmp_path / "adult.svm"
    path.write_bytes(as_text(train, tmp_path))
    X, y = load_svmlight_file(str(path), n_features=123, dtype=np.float32)
    assert_same(train, data.Dataset(X, y))
    assert_same(data.open(path, n_features=123), train)


@st.composite
def datasets(draw):
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    width = 8 * np.dtype(dtype).itemsize
    finite = st.floats(allow_nan=False, allow_infinity=False, width=width)
    dense = draw(hnp.arrays(dtype, (n, d), elements=finite))
    stored = draw(hnp.arrays(bool, (n, d)))
    X = sp.csr_matrix(
        (dense[stored], np.nonzero(stored)[1], np.append(0, stored.sum(1).cumsum())), shape=(n, d)
    )
    y = draw(hnp.arrays(np.float64, n, elements=st.floats(allow_nan=False, allow_infinity=False)))
    whole = st.integers(-(2**63), 2**63 - 1)
    qid = draw(st.none() | hnp.arrays(np.int64, n, elements=whole))
    return data.Dataset(X, y, qid=qid)


@given(rows=datasets(), zero_based=st.booleans())
@settings(max_examples=150)
def test_what_is_written_reads_back_bit_for_bit(rows, zero_based, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / "rows.svm"
    data.save(rows, path, zero_based=zero_based)
    back = data.open(
        path, format="svmlight", dtype=rows.X.dtype, zero_based=zero_based,
        n_features=rows.X.shape[1],
    )  # fmt: skip
    assert_same(back, rows)
    assert back.y.tobytes() == rows.y.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_written_text_does_not_depend_on_the_number_of_threads(threads, tmp_path):
    rows = random_rows(5_000, 100, 0.05)
    assert as_text(rows, tmp_path, threads=threads) == as_text(rows, tmp_path, threads=1)


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_rows_are_written_without_their_zeros(order, tmp_path):
    X = np.array([[0, 1.5], [-2, 0], [0, 0]], np.float32, order=order)
    assert as_text(data.Dataset(X, np.array([1, -1, 1])), tmp_path) == b"1 2:1.5\n-1 1:-2\n1\n"


def test_unsorted_rows_are_written_sorted(tmp_path):
    X = sp.csr_matrix((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    assert as_text(data.Dataset(X, np.array([1])), tmp_path) == b"1 1:2 2:1\n"


def test_rows_without_labels_get_label_zero(tmp_path):
    assert as_text(data.Dataset(np.ones((1, 1))), tmp_path) == b"0 1:1\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array(["a", "b"])}, "needs labels that are numbers"),
        ({"y": np.array([1, np.nan])}, "needs finite labels"),
        ({"y": np.array([2**60 + 1, 0])}, "float64 can hold"),
        ({"weight": np.ones(2)}, "cannot hold them; save as CSV or Parquet"),
    ],
)
def test_what_svmlight_text_cannot_hold_is_refused(change, message, tmp_path):
    rows = data.Dataset(np.ones((2, 1)), np.array([0, 1]))
    for name, value in change.items():
        setattr(rows, name, value)
    with pytest.raises(data.DataError, match=message):
        data.save(rows, tmp_path / "rows.svm")
    assert not list(tmp_path.iterdir())
