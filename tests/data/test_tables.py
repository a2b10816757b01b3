"""CSV, Parquet and Arrow: which column is what, what is refused, and round trips."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin import data


def csv(text: str, **options) -> data.Dataset:
    return data.open(io.BytesIO(text.encode()), format="csv", **options)


def parquet(columns: dict, **options) -> data.Dataset:
    file = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), file)
    return data.open(io.BytesIO(file.getvalue()), **options)


# ------------------------------------------------------------------ which column is what


def test_label_by_name_in_any_case_and_place():
    rows = csv("a,Target,b\n1,7,2\n3,8,4\n")
    assert rows.X.tolist() == [[1, 2], [3, 4]]
    assert rows.X.dtype == np.float32
    assert rows.X.flags.c_contiguous
    assert rows.y.tolist() == [7, 8]
    assert rows.y.dtype == np.int64
    assert rows.feature_names == ["a", "b"]
    assert rows.index_base is None


def test_label_names_have_an_order():
    assert csv("x,y,label\n1,2,3\n").y.tolist() == [3]
    assert csv("x,response,class\n1,2,3\n").y.tolist() == [3]


@pytest.mark.parametrize(("target", "y"), [("b", 2), (0, 1), (2, 3), (-1, 3)])
def test_label_by_option(target, y):
    assert csv("a,b,label\n1,2,3\n", target=target).y.tolist() == [y]


def test_tables_without_label():
    rows = csv("a,b\n1,2\n", target=False)
    assert rows.y is None
    assert rows.X.tolist() == [[1, 2]]


def test_names_that_say_nothing_must_be_told():
    with pytest.raises(data.DataError, match=r"found columns 'a', 'b'; expected one named label"):
        csv("a,b\n1,2\n")
    with pytest.raises(
        data.DataError, match="found no target column 'c'; expected one of 'a', 'b'"
    ):
        csv("a,b\n1,2\n", target="c")
    with pytest.raises(data.DataError, match="found no target column 5"):
        csv("a,b\n1,2\n", target=5)


def test_csv_without_names_has_the_label_first_or_as_the_only_word():
    rows = csv("1,2,3\n4,5,6\n")
    assert rows.y.tolist() == [1, 4]
    assert rows.feature_names is None
    rows = csv("5.1,3.5,Iris-setosa\n6.2,2.9, Iris-virginica\n")
    assert rows.y.tolist() == ["Iris-setosa", "Iris-virginica"]
    assert csv("1,2,3\n", target=-1).y.tolist() == [3]
    assert csv("1,2,3\n", target="1", qid="0").y.tolist() == [2]
    assert csv("1,2,3\n", qid=0).y.tolist() == [2]


def test_a_missing_mark_is_no_label():
    with pytest.raises(data.DataError, match=r"stream:1: column 'f1', row 1: found no value"):
        csv("1,?,3\n1,2,3\n")


def test_query_numbers_and_weights():
    text = "q,y,w,a\n7,1,0.5,2\n8,0,2,3\n"
    rows = csv(text, qid="q", weight="w")
    assert rows.qid.tolist() == [7, 8]
    assert rows.weight.tolist() == [0.5, 2]
    assert rows.feature_names == ["a"]
    rows = csv("qid,y,sample_weight,a\n7,1,0.5,2\n")
    assert (rows.qid.tolist(), rows.weight.tolist(), rows.X.tolist()) == ([7], [0.5], [[2]])
    with pytest.raises(data.DataError, match="expected different columns"):
        csv(text, qid="q", weight="q")


def test_parquet_from_pandas_with_an_index_and_categories(tmp_path):
    frame = pd.DataFrame(
        {
            "flag": [True, False, True],
            "x": [1.5, 2.5, 3.5],
            "k": pd.array([1, 2, 3], dtype="int8"),
            "class": pd.Categorical(["b", "a", "b"]),
        },
        index=[10, 20, 30],
    )
    frame.to_parquet(tmp_path / "frame")
    rows = data.open(tmp_path / "frame", dtype="float64")
    assert rows.feature_names == ["flag", "x", "k"]
    assert rows.X.tolist() == [[1, 1.5, 1], [0, 2.5, 2], [1, 3.5, 3]]
    assert rows.y.tolist() == ["b", "a", "b"]


def test_arrow_files():
    file = io.BytesIO()
    pa.feather.write_feather(pa.table({"x": [1.0, 2.0], "y": [1, 2]}), file)
    rows = data.open(io.BytesIO(file.getvalue()))
    assert (rows.X.tolist(), rows.y.tolist()) == ([[1], [2]], [1, 2])


def test_views_of_text_are_text(tmp_path):
    columns = {"x": ["b", "a long word, not in its view", "b"], "y": ["yes", "no", "yes"]}
    views = {name: pa.array(words).cast(pa.string_view()) for name, words in columns.items()}
    for name, table in (("plain", pa.table(columns)), ("views", pa.table(views))):
        with pa.ipc.new_file(tmp_path / f"{name}.arrow", table.schema) as writer:
            writer.write_table(table)
    plain = data.open(tmp_path / "plain.arrow", encode="auto")
    for rows in (
        data.open(tmp_path / "views.arrow", encode="auto"),
        next(data.open_source(tmp_path / "views.arrow", encode="auto").blocks()),
    ):
        assert (rows.X != plain.X).nnz == 0
        assert rows.y.tolist() == plain.y.tolist() == columns["y"]


# ------------------------------------------------------------------ kinds of text


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters(delimiter):
    text = "a,b,y\n1,2,3\n".replace(",", delimiter)
    assert data.open(io.BytesIO(text.encode())).X.tolist() == [[1, 2]]


def test_quotes_blanks_line_ends_and_byte_order_mark():
    rows = csv('\ufeff"a","y"\r\n"1", 2 \r\n\r\n3,4')
    assert (rows.X.tolist(), rows.y.tolist(), rows.feature_names) == ([[1], [3]], [2, 4], ["a"])


def test_labels_are_whole_numbers_or_numbers_or_words():
    assert csv("a,y\n1,1\n1,2\n").y.dtype == np.int64
    assert csv("a,y\n1,1\n1,2.5\n").y.dtype == np.float64
    assert csv("a,y\n1,1\n1, two \n").y.tolist() == ["1", "two"]


def test_a_column_of_whole_numbers_may_turn_to_fractions_late():
    lines = ["1,2"] * 2_000_000 + ["0.5,2.5"]
    rows = csv("a,y\n" + "\n".join(lines), threads=2)
    assert rows.X[-1, 0] == 0.5
    assert rows.y[-1] == 2.5


def test_truth_values_are_features():
    assert csv("a,y\nTrue,1\nfalse,0\n").X.tolist() == [[1], [0]]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_result_does_not_depend_on_the_number_of_threads(threads):
    numbers = np.random.default_rng(0).standard_normal((200_000, 4))
    text = "y,a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in numbers.tolist())
    rows = csv(text, threads=threads, dtype="float64")
    assert rows.X.tobytes() == np.ascontiguousarray(numbers[:, 1:]).tobytes()
    assert rows.y.tobytes() == np.ascontiguousarray(numbers[:, 0]).tobytes()


# ------------------------------------------------------------------ what is refused, and where

BAD_CSV = {
    "feature a word": ("a,y\n1,2\n\nx,4\n", "stream:4: column 'a': found 'x'; expected a number"),
    "feature missing": ("a,y\n1,2\n\n,4\n", "stream:4: column 'a', row 2: found no value"),
    "feature NA": ("a,y\n1,2\nNA,4\n", "stream:3: column 'a', row 2: found no value"),
    "feature nan": ("a,y\n1,2\nnan,4\n", "stream:3: column 'a', row 2: found no value"),
    "feature inf": ("a,y\n1,2\n-inf,4\n", "stream:3: column 'a', row 2: found -inf"),
    "label missing": ("a,y\n1,2\n3,\n", "stream:3: column 'y', row 2: found no value"),
    "label NA among numbers": ("a,y\n1,2\n3,NA\n", "stream:3: column 'y', row 2: found no value"),
    "label missing among words": ("a,y\n1,u\n3,\n", "stream:3: column 'y', row 2: found no value"),
    "label inf": ("a,y\n1,2\n3,inf\n", "stream:3: column 'y', row 2: found inf"),
    "weight missing": (
        "a,y,sample_weight\n1,2,\n",
        "column 'sample_weight', row 1: found no value",
    ),
    "qid a fraction": ("a,y,qid\n1,2,1.5\n", "stream:2: column 'qid': found '1.5'"),
    "too few fields": ("a,b,y\n1,2,3\n1,2\n", "stream:3: found 2 fields; expected 3"),
    "too many fields": ("a,b,y\n1,2,3,4\n", "stream:2: found 4 fields; expected 3"),
    "names and no rows": ("a,b,y\n", "found no rows"),
    "one column": ("y\n1\n", "found no feature column beside ['y']"),
    "column without name": (",a,y\n0,1,2\n", "column 1 has no name"),
    "same name twice": ("a,a,y\n0,1,2\n", "found 2 columns named 'a'"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", BAD_CSV)
def test_bad_csv_names_the_place(name, threads):
    text, message = BAD_CSV[name]
    with pytest.raises(data.DataError) as raised:
        csv(text, threads=threads)
    assert message in str(raised.value)
    assert str(raised.value).startswith("stream:")


def test_bad_csv_names_the_line_deep_in_a_long_file():
    lines = ["1,2"] * 2_000_000
    lines[1_500_000] = "1,2,3"
    with pytest.raises(data.DataError, match="stream:1500002: found 3 fields; expected 2"):
        csv("a,y\n" + "\n".join(lines), threads=2)
    lines[1_500_000] = "?,2"
    with pytest.raises(
        data.DataError, match=r"stream:1500002: column 'a', row 1500001: found no value"
    ):
        csv("a,y\n" + "\n".join(lines), threads=2)


BAD_PARQUET = {
    "feature of strings": ({"a": ["x"], "y": [1]}, "column 'a' holds string; expected numbers"),
    "feature of lists": ({"a": [[1.0]], "y": [1]}, "column 'a' holds list"),
    "feature missing": ({"a": [1, None], "y": [1, 2]}, "column 'a', row 2: found no value"),
    "feature nan": ({"a": [1, float("nan")], "y": [1, 2]}, "column 'a', row 2: found no value"),
    "feature too large": ({"a": [1e300], "y": [1]}, "found 1e+300; expected a finite number that"),
    "label missing": ({"a": [1, 2], "y": [1, None]}, "column 'y', row 2: found no value"),
    "label of lists": ({"a": [1], "y": [[1]]}, "label column 'y' holds list"),
    "qid of strings": ({"a": [1], "y": [1], "qid": ["a"]}, "qid column 'qid' holds string"),
    "qid a fraction": ({"a": [1], "y": [1], "qid": [1.5]}, "expected whole numbers"),
    "weight of strings": ({"a": [1], "y": [1], "sample_weight": ["a"]}, "expected numbers"),
    "no rows": ({"a": pa.array([], pa.float32()), "y": pa.array([], pa.int8())}, "found no rows"),
}


@pytest.mark.parametrize("name", BAD_PARQUET)
def test_bad_parquet_names_the_place(name):
    columns, message = BAD_PARQUET[name]
    with pytest.raises(data.DataError) as raised:
        parquet(columns)
    assert message in str(raised.value)


@pytest.mark.parametrize("keep", [8, 100, -10])
def test_a_parquet_file_cut_short(keep):
    file = io.BytesIO()
    pa.parquet.write_table(pa.table({"x": np.arange(1000.0), "y": np.arange(1000)}), file)
    with pytest.raises(data.DataError, match="Parquet file is damaged or incomplete"):
        data.open(io.BytesIO(file.getvalue()[:keep]))


def test_number_of_features_is_checked():
    assert csv("a,b,y\n1,2,3\n", n_features=2).X.shape == (1, 2)
    with pytest.raises(data.DataError, match="found 2 feature columns; expected 3"):
        csv("a,b,y\n1,2,3\n", n_features=3)


# ------------------------------------------------------------------ round trips


def finite(dtype) -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False, width=8 * np.dtype(dtype).itemsize)


@st.composite
def datasets(draw) -> data.Dataset:
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = draw(hnp.arrays(dtype, (n, d), elements=finite(dtype)))
    labels = draw(
        st.sampled_from(
            [
                hnp.arrays(np.int64, n),
                hnp.arrays(np.float64, n, elements=finite(np.float64).map(lambda v: v + 0.5)),
                st.lists(st.sampled_from(["a", "b c", 'd"e', "f,g", "ü"]), min_size=n, max_size=n),
            ]
        ).flatmap(lambda kind: kind)
    )
    qid = draw(st.none() | hnp.arrays(np.int64, n))
    weight = draw(st.none() | hnp.arrays(np.float64, n, elements=finite(np.float64)))
    names = draw(st.none() | st.just([f"feature {j}" for j in range(d)]))
    return data.Dataset(X, np.array(labels), qid=qid, weight=weight, feature_names=names)


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
@given(rows=datasets())
@settings(max_examples=60)
def test_what_is_written_reads_back_bit_for_bit(ending, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("round") / f"rows.{ending}"
    data.save(rows, path)
    back = data.open(path, dtype=rows.X.dtype, threads=1)
    assert back.X.tobytes() == np.ascontiguousarray(rows.X).tobytes()
    for name in ("y", "qid", "weight"):
        found, expected = getattr(back, name), getattr(rows, name)
        assert (found is None) == (expected is None)
        if found is not None:
            np.testing.assert_array_equal(found, expected)
    expected_names = rows.feature_names or [f"x{j + 1}" for j in range(rows.X.shape[1])]
    assert back.feature_names == expected_names


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_sparse_rows_become_full_rows(ending, tmp_path):
    train, _ = data.load_demo()
    data.save(train, tmp_path / f"rows.{ending}")
    back = data.open(tmp_path / f"rows.{ending}")
    np.testing.assert_array_equal(back.X, train.X.toarray())
    np.testing.assert_array_equal(back.y, train.y)


def test_very_wide_sparse_rows_are_refused_as_tables(tmp_path):
    rows = data.Dataset(sp.csr_matrix((2, 50_000), dtype=np.float32), np.array([0, 1]))
    with pytest.raises(data.DataError, match="sparse with 50000 columns"):
        data.save(rows, tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())


def test_a_feature_with_the_name_of_the_label_is_refused(tmp_path):
    rows = data.Dataset(np.ones((1, 1)), np.array([1]), feature_names=["label"])
    with pytest.raises(data.DataError, match="found a feature named 'label'"):
        data.save(rows, tmp_path / "rows.csv")
    assert not list(tmp_path.iterdir())
