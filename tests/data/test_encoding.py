"""Tables as they come: what each column becomes, from every door, and what is refused."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from maxmargin import data
from maxmargin.data import DataError, TableEncoder
from maxmargin.data.encoding.encoding import Options, batches_of, fit
from maxmargin.data.encoding.packing import pack, unpack
from maxmargin.data.encoding.places import DataWarning

N = 120


def table(**more):
    rows = np.arange(N)
    return pd.DataFrame(
        {
            "age": np.where(rows % 6 == 2, np.nan, 20.0 + rows % 7),
            "visits": np.where(rows % 5 == 0, rows % 4, 0),
            "city": np.array(["Rome", "Oslo", None, "Rome"], object)[rows % 4],
            "joined": np.array(["2020-01-31", "31.12.2020", "2021-06-01"])[rows % 3],
            "member": rows % 2 == 0,
            "number": rows + 1,
            "constant": "same",
            "nothing": None,
            "remark": [f"call number {i} was long and went well" for i in rows],
            **more,
        }
    )


def encode(frame, **options):
    arrow = pa.table(frame) if isinstance(frame, dict) else pa.Table.from_pandas(frame)
    return fit(arrow.column_names, lambda: batches_of(arrow, 50), Options(**options))


def column(name, values, **options):
    return encode({name: values}, **options)


def test_each_kind_of_column_becomes_numbers():
    found = encode(table())
    kinds = {c.name: c.kind for c in found.columns}
    assert kinds == {
        "age": "number",
        "visits": "number",
        "city": "category",
        "joined": "date",
        "member": "boolean",
        "remark": "text",
    }
    assert found.left_out == {
        "number": "numbers the rows",
        "constant": "the same value in every row",
        "nothing": "no value in any row",
    }
    X = found.transform(table())
    assert sp.issparse(X) and X.shape == (N, found.width) and np.isfinite(X.data).all()


def test_numbers_are_standardised_and_missing_ones_are_zero_with_an_indicator():
    frame = table()[["age"]]
    X = encode(frame).transform(frame)
    known = frame["age"].notna().to_numpy()
    np.testing.assert_allclose(X[known, 0].mean(), 0, atol=1e-5)
    np.testing.assert_allclose(X[known, 0].std(), 1, rtol=1e-5)
    assert (X[~known, 0] == 0).all() and (X[:, 1] == ~known).all()


def test_zeros_stay_zeros_where_most_values_are():
    frame = table()[["visits"]]
    X = encode(frame, sparse=False).transform(frame)[:, 0]
    assert ((X == 0) == (frame["visits"] == 0)).all()
    np.testing.assert_allclose(np.sqrt((X[X != 0] ** 2).mean()), 1, rtol=1e-5)


def test_rare_values_share_a_feature_and_unseen_ones_get_it():
    found = column("c", ["a"] * 9 + ["b"] * 9 + ["x", "y"])
    assert found.feature_names == ["c=a", "c=b", "c=<rare>"]
    assert found.transform({"c": ["b", "x", "new", None]}).tolist() == [
        [0, 1, 0],
        [0, 0, 1],
        [0, 0, 1],
        [0, 0, 0],
    ]


def test_unseen_values_are_zeros_where_none_is_rare():
    found = column("c", ["a", "b"] * 9)
    assert found.transform({"c": ["new"]}).tolist() == [[0, 0]]


def test_ten_thousand_categories_are_kept_and_more_are_pooled():
    values = [f"v{i}" for i in range(10_010)] * 3 + ["v7"] * 5
    found = column("c", values)
    assert found.width == 10_001 and found.sparse
    assert "v7" in found.columns[0].values
    X = found.transform({"c": values})
    assert X.nnz == len(values) and (X.sum(axis=1) == 1).all()


def test_dates_in_two_formats_are_one_column_of_days():
    found = column("d", ["2020-01-01", "02.01.2020", "2020-01-03", "2020-01-04T12:00:00"] * 5)
    date = found.columns[0]
    assert date.kind == "date" and len(date.formats) == 2
    days = date.numbers(pa.array(["2020-01-01", "02.01.2020", "2020-01-04T12:00:00", None]))[0]
    np.testing.assert_array_equal(np.diff(days)[:2], [1, 2.5])
    assert np.isnan(days[3])


@pytest.mark.parametrize(
    "values, day",
    [
        (["12/31/2020", "01/02/2020"], 18262 + 1),
        (["31/12/2020", "01/02/2020"], 18262 + 31),
        (["Jan 5 2020", "Feb 1 2020"], 18262 + 31),
        (["2020-01-01T00:00:00Z", "2020-01-01T06:00:00-06:00"], 18262.5),
    ],
)
def test_the_format_of_dates_is_the_one_that_fits_them_all(values, day):
    date = column("d", values * 9).columns[0]
    assert date.numbers(pa.array(values))[0][1] == day


def test_a_few_words_among_numbers_count_as_missing_with_a_warning():
    values = [*map(str, range(3, 40)), "unknown", "12a"]
    with pytest.warns(DataWarning, match="row 38: column 'a': found 'unknown' and 1 more"):
        found = column("a", values)
    assert found.columns[0].kind == "number" and found.columns[0].indicator
    with pytest.warns(DataWarning, match="expected a number"):
        X = found.transform({"a": ["5", "what"]})
    assert X[1].tolist() == [0, 1]


def test_many_words_among_numbers_make_categories():
    mixed = pd.DataFrame({"a": [1, "one", 2.5, "two"] * 9})
    found = TableEncoder().fit(mixed)
    assert found.get_feature_names_out().tolist() == ["a=1", "a=2.5", "a=one", "a=two"]
    assert found.transform(mixed).sum() == len(mixed)


def test_infinity_is_refused_with_its_row():
    with pytest.raises(DataError, match="row 61: column 'a': found inf"):
        column("a", [1.0, 2.0] * 30 + [np.inf])


def test_columns_of_lists_are_refused():
    with pytest.raises(DataError, match="column 'a' holds list<"):
        column("a", [[1], [2]])


def test_missing_columns_are_all_named_and_others_not_looked_at():
    found = encode(table())
    frame = table(more=1)
    assert (found.transform(frame[frame.columns[::-1]]) != found.transform(frame)).nnz == 0
    with pytest.raises(DataError, match="no columns 'city', 'member'"):
        found.transform(frame.drop(columns=["city", "member"]))


def test_an_encoding_does_not_depend_on_how_rows_are_cut():
    arrow = pa.Table.from_pandas(table())
    parts = [
        fit(arrow.column_names, lambda rows=rows: batches_of(arrow, rows), Options())
        for rows in (1, 7, 1000)
    ]
    assert parts[0] == parts[1] == parts[2]


def test_every_library_gives_the_same_rows():
    frame = table()
    found = encode(frame)
    X = found.transform(frame)
    polars = pytest.importorskip("polars")
    for other in (pa.Table.from_pandas(frame), frame.to_dict("list"), polars.from_pandas(frame)):
        assert (found.transform(other) != X).nnz == 0


def test_the_kind_of_a_column_can_be_said():
    found = encode(table(), kinds={"visits": "category", "age": "drop", "remark": "category"})
    assert [c.name for c in found.columns if c.kind == "category"] == ["visits", "city"]
    assert found.left_out["age"] == "dropped"
    with pytest.raises(DataError, match="'nowhere'"):
        encode(table(), kinds={"nowhere": "text"})
    with pytest.raises(ValueError, match="expected one of number"):
        encode(table(), kinds={"age": "letters"})


# ---------------------------------------------------------------- files

FILES = ["t.csv", "t.tsv", "t.parquet", "t.arrow", "t.csv.gz"]


def write(frame, path):
    if path.name.endswith("tsv"):
        frame.to_csv(path, index=False, sep="\t")
    elif "csv" in path.name:
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)


@pytest.mark.parametrize("name", FILES)
def test_files_of_every_format_give_the_rows_of_the_table(tmp_path, name):
    frame = table(label=np.array(["yes", "no", "no"])[np.arange(N) % 3])
    write(frame, tmp_path / name)
    whole = data.open(tmp_path / name, encode="auto", drop=["number"])
    expected = encode(frame.drop(columns=["label", "number"]))
    assert whole.encoder.columns == expected.columns
    assert (expected.transform(frame) != whole.X).nnz == 0
    assert whole.encoder.roles == {"target": "label"}
    assert whole.encoder.left_out["number"] == "dropped"
    source = data.open_source(tmp_path / name, encode="auto", drop=["number"])
    assert source.encoder == whole.encoder
    blocks = list(source.blocks())
    assert (sp.vstack([block.X for block in blocks]) != whole.X).nnz == 0
    assert np.concatenate([block.y for block in blocks]).tolist() == whole.y.tolist()


def test_a_column_that_tells_the_label_is_pointed_out(tmp_path):
    label = np.array(["yes", "no"])[np.arange(N) % 2]
    frame = table(label=label, again=np.where(label == "yes", 1, 7)).drop(columns="member")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for read in (data.open, data.open_source):
        with pytest.warns(DataWarning, match="the column 'again' tells the label 'label'"):
            read(tmp_path / "t.csv", encode="auto")


BAD = {
    "twice the same name": ("a,a,y\n1,2,3\n", "2 columns named 'a'"),
    "twice but for blanks": ("a, a ,y\n1,2,3\n", "2 columns named 'a'"),
    "header only": ("a,b,y\n", "found no rows"),
    "header without a line end": ("a,b,y", "found no rows"),
    "no label": ("a,y\n1,2\n3,\n", r":3: column 'y', row 2: found no value"),
    "short line": ("a,b,y\n1,2,3\n4,5\n", ":3: found 2 fields; expected 3"),
    "nothing left": ("a,y\n1,2\n1,3\n", "no column to learn from \\('a': the same value"),
    "infinity": ("a,y\n1,2\ninf,3\n", ":3: column 'a': found inf"),
    "after a line break in quotes": ('a,b,y\n"x\n\n,z",1,2\nq,inf,3\n', ":5: column 'b'"),
    "dropped and unknown": ("a,y\n1,2\n", "no columns 'p', 'q' to drop"),
}


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_bad_tables_are_refused_with_their_line(tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    options = {"drop": ["p", "q"]} if "drop" in message else {}
    with pytest.raises(DataError, match=message):
        data.open(tmp_path / "bad.csv", encode="auto", **options)


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["no mark", "mark"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_text_of_other_encodings_is_read(tmp_path, encoding, mark):
    text = mark + "größe,y\n" + "klein,1\ngroß,2\nklein,2\n" * 5
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    found = data.open(tmp_path / "t.csv", encode="auto")
    assert found.feature_names == ["größe=groß", "größe=klein"]
    if encoding != "utf-8":
        with pytest.raises(DataError, match="UTF-16"):
            data.open_source(tmp_path / "t.csv", encode="auto")


def test_quotes_and_line_breaks_inside_fields_are_values(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + '"he said ""no"",\nthen left",1\nb,2\nb,1\n' * 5)
    found = data.open(tmp_path / "t.csv", encode="auto")
    assert found.feature_names == ["a=b", 'a=he said "no",\nthen left']


# ---------------------------------------------------------------- packing


def damaged():
    good = pack(encode(table()))
    yield "no columns", {**good, "columns": []}
    yield "roles", {**good, "roles": {"owner": "x"}}
    yield "sparse", {**good, "sparse": 1}
    yield "dtype", {**good, "dtype": "object"}
    yield "target", {**good, "target_format": "%d"}
    yield "twice", {**good, "columns": good["columns"] * 2}
    for at, change in (
        (0, {"scale": 0.0}),
        (0, {"scale": "1"}),
        (0, {"centre": 1e301}),
        (0, {"varies": False, "indicator": False}),
        (0, {"kind": "code"}),
        (0, {"name": 7}),
        (2, {"values": ["b", "a"]}),
        (2, {"values": [1, 2]}),
        (2, {"rare": "no"}),
        (3, {"formats": [1]}),
        (3, {"formats": [""]}),
        (3, {"formats": ["%"]}),
        (3, {"formats": "%Y"}),
        (5, {"bits": 60}),
        (5, {"n": True}),
    ):
        columns = [dict(c) for c in good["columns"]]
        columns[at] |= change
        yield str(change), {**good, "columns": columns}


@pytest.mark.parametrize("packed", [p for _, p in damaged()], ids=[n for n, _ in damaged()])
def test_a_damaged_encoding_is_refused(packed):
    with pytest.raises(ValueError, match="its encoding"):
        unpack(packed)


def test_an_encoding_comes_back_from_json():
    found = encode(table())
    again = unpack(json.loads(json.dumps(pack(found))))
    assert (again.transform(table()) != found.transform(table())).nnz == 0


@pytest.mark.filterwarnings("ignore::maxmargin.data.encoding.places.DataWarning")
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("door", ["open", "source"])
def test_lists_are_refused_by_name_whatever_a_model_expects(tmp_path, ending, door):
    columns = {"label": np.arange(60) % 2, "z": np.arange(60.0), "x": pa.array([[1.0, 2.0]] * 60)}
    rows, path = pa.table(columns), tmp_path / f"t.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(rows, path)
    else:
        with pa.ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows)
    for known in ("auto", column("x", np.arange(60) % 7)):
        with pytest.raises(DataError, match=r"column 'x' holds list<.*expected numbers"):
            if door == "open":
                data.open(path, encode=known)
            else:
                list(data.open_source(path, encode=known).blocks())


@pytest.mark.parametrize("index", [pa.uint8(), pa.uint32(), pa.int8(), pa.int64()])
def test_dictionaries_may_count_with_any_whole_numbers(index):
    """Those without a sign have no -1 for a missing value."""
    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 1] * 10, index), pa.array(["Rome", "Oslo"])
    )
    table = pa.table({"label": np.arange(40) % 2, "city": words})
    found = fit(["city"], lambda: batches_of(table), Options())
    assert found.feature_names == ["city=Oslo", "city=Rome", "city=<missing>"]
    np.testing.assert_array_equal(
        np.asarray(found.transform(table).sum(axis=0)).ravel(), [20, 10, 10]
    )
