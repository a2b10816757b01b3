"""`open` decides by content, refuses what means nothing, and never crashes."""

from __future__ import annotations

import io
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import data
from maxmargin.data.formats.content import Content
from maxmargin.data.formats.reading import detect_format


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1 1:2\n", "svmlight"),
        ("# a, comment; first\n\n+1 qid:3 1:2\n", "svmlight"),
        ("-1\n1 1:2\n", "svmlight"),
        ("1\n-1\n", "svmlight"),
        ("1,2 3:4\n", "svmlight"),
        ("1 1:2 # a, b, c\n", "svmlight"),
        ("cat 1:2\n", "svmlight"),
        ("1 cost:2\n", "svmlight"),
        ("1:2 2:3\n", "svmlight"),
        ("a,b\n1,2\n", "csv"),
        ("1;2\n", "csv"),
        ("a\tb\n1\t2\n", "csv"),
        ("2020-01-01 10:00:00,3\n", "csv"),
        ("time,y\n10:00,3\n", "csv"),
    ],
)
def test_text_is_recognised(text, format):
    assert detect_format(Content("text", np.frombuffer(text.encode(), np.uint8))) == format


def test_a_label_then_a_tab_is_svmlight():
    assert data.open(io.BytesIO(b"1\t1:2\t2:3\n")).X.toarray().tolist() == [[2, 3]]


def test_text_of_no_known_format():
    with pytest.raises(data.DataError, match="found '1 2 3' on the first line; expected svmlight"):
        data.open(io.BytesIO(b"1 2 3\n4 5 6\n"))


def test_a_format_can_be_said():
    with pytest.raises(data.DataError, match="stream:1: found '2'; expected index:value"):
        data.open(io.BytesIO(b"1 2 3\n"), format="svmlight")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"1 1:1\n", {"target": "y"}, "target='y' was given, but the file is svmlight"),
        (b"1 1:1\n", {"target": False}, "target=False was given"),
        (b"1 1:1\n", {"qid": 0}, "qid=0 was given"),
        (b"1 1:1\n", {"weight": "w"}, "weight='w' was given"),
        (b"a,y\n1,2\n", {"zero_based": True}, "zero_based=True was given, but the file is csv"),
        (b"1 1:1\n", {"format": "xls"}, "format is 'xls'; expected one of svmlight"),
        (b"1 1:1\n", {"dtype": "int32"}, "dtype is 'int32'; expected float32 or float64"),
        (b"1 1:1\n", {"dtype": "number"}, "dtype is 'number'; expected float32 or float64"),
        (b"1 1:1\n", {"zero_based": "yes"}, "zero_based is 'yes'; expected True, False"),
        (b"1 1:1\n", {"n_features": 0}, "n_features is 0; expected at least 1"),
        (b"1 1:1\n", {"threads": 0}, "threads is 0; expected at least 1"),
    ],
)
def test_options_that_mean_nothing_are_refused(content, options, message):
    with pytest.raises(data.DataError, match=message):
        data.open(io.BytesIO(content), **options)


def parquet_bytes() -> bytes:
    file = io.BytesIO()
    pa.parquet.write_table(pa.table({"x": np.arange(50.0), "y": np.arange(50)}), file)
    return file.getvalue()


WELL_FORMED = [
    b"+1 qid:3 1:0.5 7:-2e-3 # c\n-1 qid:4 2:1\n" * 5,
    b"-1 1:1 2:2\n1 3:3\n" * 5,
    b"a,b,label\n1,2,x\n3,4,y\n" * 5,
    b"1;2;3\n4;5;6\n" * 5,
    parquet_bytes(),
]


def opens_or_explains(content: bytes, **options) -> None:
    try:
        rows = data.open(io.BytesIO(content), **options)
    except data.DataError as error:
        assert str(error)
    else:
        assert rows.X.shape[0] == len(rows.y) > 0
        values = rows.X.data if hasattr(rows.X, "indptr") else rows.X
        assert np.isfinite(np.asarray(values)).all()


@pytest.mark.parametrize("format", [None, "svmlight", "csv", "parquet", "arrow"])
@given(content=st.binary(max_size=200))
@settings(max_examples=100)
def test_random_bytes_never_crash(format, content):
    opens_or_explains(content, format=format)


@given(
    content=st.text("0123456789+-.:eE #,\t\r\nqidnaf\x00", max_size=120), threads=st.integers(1, 2)
)
@settings(max_examples=500)
def test_random_text_of_the_right_letters_never_crashes(content, threads):
    opens_or_explains(content.encode(), format="svmlight", threads=threads)


@pytest.mark.parametrize("sample", range(len(WELL_FORMED)))
def test_damaged_files_never_crash(sample):
    draw = random.Random(sample)
    for _ in range(300):
        content = bytearray(WELL_FORMED[sample])
        for _ in range(draw.randrange(1, 5)):
            at = draw.randrange(len(content))
            kind = draw.randrange(3)
            if kind == 0:
                content[at] = draw.randrange(256)
            elif kind == 1:
                del content[at : at + draw.randrange(1, 20)]
            else:
                content[at:at] = draw.choice([b"\n", b" ", b":", b"9", b"\x00", b"nan", b"1e999"])
            if not content:
                break
        opens_or_explains(bytes(content))


def test_the_bundled_rows():
    train, test = data.load_demo()
    assert train.X.shape == (6000, 123)
    assert test.X.shape == (3000, 123)
    for rows in (train, test):
        assert set(rows.y) == {-1.0, 1.0}
        assert 0.2 < np.mean(rows.y > 0) < 0.3
        assert (rows.X.data == 1).all()
        assert rows.index_base == 1
        assert rows.X.dtype == np.float32
