"""Sources of blocks: every format gives the rows that `open` gives, a piece at a time."""

import gzip
import os
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from maxmargin import data
from maxmargin.data import DataError

from .test_store import whole


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setitem(data.open_source.__kwdefaults__, "block_bytes", 1000)
    from maxmargin.data.formats import csv_text

    monkeypatch.setattr(csv_text, "_BLOCK", 400)


def svmlight_text(n=200, d=12, base=1, qid=False, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        columns = np.flatnonzero(rng.random(d) < 0.4)
        entries = " ".join(f"{j + base}:{rng.normal():.4g}" for j in columns)
        query = f" qid:{i // 10}" if qid else ""
        lines.append(f"{rng.choice([-1, 1])}{query} {entries}")
        if i % 17 == 0:
            lines.append("# a comment with 99:1 in it")
        if i % 23 == 0:
            lines.append("")
    return "\n".join(lines) + "\n"


def same_as_open(source, path, **options):
    """The rows of a source are those that `open` reads into memory."""
    expected = data.open(path, **options)
    X, y, weight, qid = whole(source)
    wanted = expected.X.toarray() if sp.issparse(expected.X) else expected.X
    assert np.array_equal(X, wanted)
    assert X.dtype == wanted.dtype
    assert (source.n, source.d) == wanted.shape
    assert y.dtype.kind == expected.y.dtype.kind
    assert y.tolist() == expected.y.tolist()
    for found, known in ((weight, expected.weight), (qid, expected.qid)):
        assert (found is None) == (known is None)
        assert found is None or np.array_equal(found, known)
    assert source.feature_names == expected.feature_names
    assert source.index_base == expected.index_base


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("qid", [False, True])
@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_svmlight_text(tmp_path, small_pieces, base, qid, ending, packed):
    text = svmlight_text(base=base, qid=qid).rstrip("\n") + ending
    path = tmp_path / "rows.svm"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    source = data.open_source(path)
    assert len(list(source.blocks())) > 5
    same_as_open(source, path)
    same_as_open(source, path)  # as often as asked
    same_as_open(data.open_source(path, dtype="float64"), path, dtype="float64")


def test_an_index_base_or_width_can_be_given(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 2:1\n-1 3:1\n")
    assert data.open_source(path).d == 3
    assert data.open_source(path, zero_based=True).d == 4
    assert data.open_source(path, n_features=9).d == 9
    with pytest.raises(DataError, match=r"rows.svm:2: found index 3; expected 2 features numbered"):
        list(data.open_source(path, n_features=2).blocks())


def test_faults_of_text_name_their_line(tmp_path, small_pieces):
    lines = svmlight_text().split("\n")
    lines[150] = "1 5:1 4:1"
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines))
    source = data.open_source(path)
    with pytest.raises(DataError, match=r"rows.svm:151: found index 4 after index 5; expected"):
        list(source.blocks())


def test_a_qid_must_be_on_every_row(tmp_path, small_pieces):
    path = tmp_path / "rows.svm"
    path.write_text(svmlight_text(qid=True) + svmlight_text(qid=False))
    with pytest.raises(DataError, match=r"rows.svm:\d+: found .*qid"):
        list(data.open_source(path).blocks())


@pytest.mark.parametrize("labels", ["whole", "number", "word"])
@pytest.mark.parametrize("packed", [False, True])
def test_csv(tmp_path, small_pieces, labels, packed):
    rng = np.random.default_rng(0)
    choices = {"whole": ["0", "1"], "number": ["0", "0.5"], "word": ["1", "yes"]}[labels]
    drawn = [choices[0]] * 150 + rng.choice(choices, 150).tolist()
    rows = [f"{rng.normal():.5g},{label},{i % 3},{i // 4}" for i, label in enumerate(drawn)]
    text = "height,class,sample_weight,qid\n" + "\n".join(rows)
    path = tmp_path / "rows.csv"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    source = data.open_source(path)
    assert source.kind == "dense"
    assert len(list(source.blocks())) > 3
    same_as_open(source, path)


def test_faults_of_csv_name_their_line(tmp_path, small_pieces):
    lines = ["x,label"] + [f"{i},1" for i in range(300)]
    lines[201] = "many,1"
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(
        DataError, match=r"rows.csv:202: column 'x': found 'many'; expected a number"
    ):
        list(data.open_source(path).blocks())
    lines[201] = ",1"
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"rows.csv:202: column 'x', row 201: found no value"):
        list(data.open_source(path).blocks())


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables(tmp_path, small_pieces, kind):
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "a": rng.normal(size=500),
            "target": rng.choice(["no", "yes"], 500),
            "b": rng.integers(0, 9, 500),
        }
    )
    path = tmp_path / "rows"
    if kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=200)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    source = data.open_source(path)
    assert len(list(source.blocks())) > 5
    same_as_open(source, path)


def test_texts_of_a_column_can_be_the_rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("review,label,stars\na fine film,1,5\ndull,0,1\n")
    source = data.open_source(path, text="review")
    assert (source.kind, source.d, source.n) == ("strings", 0, 2)
    X, y, *_ = whole(source)
    assert X == [b"a fine film", b"dull"]
    assert y.tolist() == [1, 0]
    with pytest.raises(DataError, match="no text column 'plot'; expected one of 'review', 'stars'"):
        data.open_source(path, text="plot")


HEADERS = [
    "> chr_num=1, strand=+, position=180699, label=-1",
    ">seq1 label=+1",
    ">seq 1|class:1|human",
    ">x;TARGET=-1;y",
    ">site 7 -1",
    ">site7|+1",
    ">1",
]


def test_fasta_labels_in_common_headers(tmp_path, small_pieces):
    path = tmp_path / "rows.fa"
    path.write_text(";a comment\n" + "".join(f"{h}\nGATT\nACA\n\n" for h in HEADERS) + "TTT")
    source = data.open_source(path)
    assert (source.kind, source.d, source.n) == ("strings", 0, 7)
    X, y, *_ = whole(source)
    assert X == [b"GATTACA"] * 6 + [b"GATTACATTT"]
    assert y.tolist() == [-1, 1, 1, -1, -1, 1, 1]
    assert y.dtype == np.int64


@pytest.mark.parametrize("number", ["9" * 20, "-" + "9" * 400])
def test_fasta_labels_of_many_digits_are_words(tmp_path, number):
    """An OverflowError; as floats, labels that differ in the last digit would be one class."""
    path = tmp_path / "rows.fa"
    path.write_text(f">a label=1\nGATT\n>b label={number}\nACA\n")
    assert whole(data.open_source(path))[1].tolist() == ["1", number]


def test_fasta_in_many_pieces(tmp_path, small_pieces):
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("ACGT"), rng.integers(1, 60))) for _ in range(300)]
    labels = ["0.5" if i == 250 else "-1" for i in range(300)]
    path = tmp_path / "rows.fa"
    path.write_text("".join(f">s label={y}\n{s}\n" for s, y in zip(strings, labels)))
    source = data.open_source(path)
    assert len(list(source.blocks())) > 5
    X, y, *_ = whole(source)
    assert [s.encode() for s in strings] == X
    assert y.tolist() == [float(label) for label in labels]  # numbers from the first block on


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">a label=1\nACGT\n>b\nACGT\n", "rows.fa:3: found the header 'b'; expected a label"),
        (">a label=1\nAC GT\n", "rows.fa:2: found 'AC GT'; expected letters without blanks"),
        (">a label=1\n>b label=1\nACGT\n", "rows.fa:1: found a header without letters after it"),
        (">a label=1\nACGT\n>b label=1\n", "rows.fa:3: found a header without letters after it"),
    ],
)
def test_faults_of_fasta_name_their_line(tmp_path, text, message):
    path = tmp_path / "rows.fa"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        data.open_source(path)


def test_fasta_may_have_no_labels(tmp_path):
    path = tmp_path / "rows.fa"
    path.write_text(">a\nACGT\n>b\nAC\n")
    for options in ({}, {"target": False}):
        (block,) = data.open_source(path, **options).blocks()
        assert block.y is None
        assert block.X.starts.tolist() == [0, 4, 6]


def test_fasta_folds_masked_letters_and_keeps_unknown_ones(tmp_path):
    path = tmp_path / "rows.fa"
    path.write_text(">a\nACgtN\nnn-*\n")
    (block,) = data.open_source(path).blocks()
    assert block.X.letters.tobytes() == b"ACGTNNN-*"


def test_two_files_are_two_classes(tmp_path, small_pieces):
    for name, n in (("a.fa", 30), ("b.fa", 50)):
        (tmp_path / name).write_text("".join(f">s{k}\nACGT\n" for k in range(n)))
    source = data.open_two_classes(tmp_path / "a.fa", tmp_path / "b.fa")
    X, y, *_ = whole(source)
    assert y.tolist() == [1] * 30 + [-1] * 50
    assert len(X) == source.n == 80
    other = data.open_two_classes(tmp_path / "b.fa", tmp_path / "a.fa")
    assert other.fingerprint != source.fingerprint


def test_several_files_and_globs_are_one_source(tmp_path, small_pieces):
    parts = [svmlight_text(n=50, d=d, seed=d) for d in (5, 9, 7)]
    for name, text in zip(("b.svm", "a.svm", "c.svm"), parts):
        (tmp_path / name).write_text(text)
    (tmp_path / "all").write_text("".join([parts[1], parts[0], parts[2]]))
    source = data.open_source(str(tmp_path / "?.svm"))  # sorted
    same_as_open(source, tmp_path / "all")
    listed = data.open_source([tmp_path / "b.svm", tmp_path / "a.svm"])  # as listed
    assert listed.n == 100
    assert np.array_equal(whole(listed)[1][:50], whole(data.open_source(tmp_path / "b.svm"))[1])
    assert listed.fingerprint != source.fingerprint


def test_files_of_one_source_must_agree(tmp_path):
    (tmp_path / "a.csv").write_text("x,label\n1,1\n")
    (tmp_path / "b.csv").write_text("z,label\n1,1\n")
    with pytest.raises(DataError, match=r"b.csv: holds .* \(z\); expected .* \(x\), as"):
        data.open_source([tmp_path / "a.csv", tmp_path / "b.csv"])


def test_what_cannot_be_a_source_is_refused(tmp_path):
    (tmp_path / "empty").write_text("")
    for source, message in [
        ("nothing-*.svm", "no file has a name like this"),
        ("nothing.svm", "there is no such file"),
        (tmp_path, "is a folder; expected a file, a glob"),
        ("-", "standard input can be read once only"),
        ([], "an empty list of files"),
        (tmp_path / "empty", "is empty; expected at least one row"),
    ]:
        with pytest.raises(DataError, match=message):
            data.open_source(source)


def test_options_a_format_has_no_use_for_are_refused(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    with pytest.raises(DataError, match="target='y' was given, but the file is svmlight"):
        data.open_source(tmp_path / "a.svm", target="y")
    (tmp_path / "a.csv").write_text("x,label\n1,1\n")
    with pytest.raises(DataError, match="mapped=True was given, but the file is csv"):
        data.open_source(tmp_path / "a.csv", mapped=True)


@pytest.mark.parametrize("change", ["append", "replace", "cut", "remove"])
def test_a_file_that_changes_between_passes_is_noticed(tmp_path, change):
    path = tmp_path / "rows.svm"
    path.write_text(svmlight_text())
    source = data.open_source(path)
    list(source.blocks())
    if change == "append":
        path.write_text(svmlight_text() + "1 1:1\n")
    elif change == "replace":
        (tmp_path / "other").write_text(svmlight_text())
        os.replace(tmp_path / "other", path)
    elif change == "cut":
        os.truncate(path, 100)
    else:
        path.unlink()
    with pytest.raises(DataError, match=r"changed while it was in use|cannot be read"):
        list(source.blocks())


def test_fingerprints_tell_contents_apart(tmp_path):
    prints = set()
    for name, text in [("a", "1 1:1\n"), ("b", "1 1:2\n"), ("copy of a", "1 1:1\n")]:
        (tmp_path / name).write_text(text)
        prints.add(data.open_source(tmp_path / name).fingerprint)
    assert len(prints) == 2


def test_reading_holds_a_few_blocks_only(tmp_path):
    X = np.random.default_rng(0).normal(size=(60_000, 50)).astype(np.float32)
    path = tmp_path / "rows.arrow"
    data.write_store(data.ArraySource(X, np.ones(len(X))), path, block_bytes=1 << 18)
    source = data.open_source(path)
    list(zip(range(2), source.blocks()))  # imports and caches come first
    tracemalloc.start()
    for _ in source.blocks():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * (1 << 18) < X.nbytes / 5


def test_arrays_are_handed_out_as_views():
    X = np.arange(24.0).reshape(8, 3)
    source = data.ArraySource(X, np.arange(8), block_bytes=100)
    blocks = list(source.blocks())
    assert len(blocks) > 2
    assert all(np.shares_memory(block.X, X) for block in blocks)
    with pytest.raises(DataError, match=r"y has shape \(7,\); expected \(8,\), one per row"):
        data.ArraySource(X, np.arange(7))
