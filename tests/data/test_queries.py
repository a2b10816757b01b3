"""Queries told by a file beside the rows, as LightGBM and XGBoost have them."""

import numpy as np
import pytest

from maxmargin import RankSVM, data
from tests.contract.machines import queries, write_svmlight


@pytest.fixture(params=[".query", ".group"])
def files(request, tmp_path):
    """Rows with their own queries, and the same with queries beside them."""
    given = queries()
    write_svmlight(tmp_path / "own.svm", given)
    text = (tmp_path / "own.svm").read_text()
    bare = "\n".join(
        " ".join(w for w in line.split() if "qid" not in w) for line in text.split("\n")
    )
    (tmp_path / "bare.svm").write_text(bare)
    (tmp_path / ("bare.svm" + request.param)).write_text("6\n" * 10)
    return tmp_path


def test_rows_in_memory_and_on_disk_have_them(files):
    assert data.open(files / "bare.svm").qid.tolist() == np.repeat(np.arange(10), 6).tolist()
    found = [block.qid for block in data.open_source(files / "bare.svm").blocks()]
    assert np.concatenate(found).tolist() == np.repeat(np.arange(10), 6).tolist()
    own, beside = (RankSVM().fit(str(files / f"{name}.svm")) for name in ("own", "bare"))
    np.testing.assert_array_equal(own.coef_, beside.coef_)
    assert own.score(str(files / "own.svm")) == beside.score(str(files / "bare.svm"))


def test_queries_of_several_files_are_different(files):
    paths = [files / "bare.svm", files / "bare.svm"]
    found = np.concatenate([block.qid for block in data.open_source(paths).blocks()])
    assert found.tolist() == np.repeat(np.arange(20), 6).tolist()


def test_a_store_keeps_them_and_a_table_has_them(files):
    data.write_store(data.open_source(files / "bare.svm"), files / "rows.arrow")
    assert data.open(files / "rows.arrow").qid.tolist() == np.repeat(np.arange(10), 6).tolist()
    (files / "t.csv").write_text("label,a\n1,2\n0,3\n1,4\n")
    (files / "t.csv.query").write_text("2\n\n1\n")
    assert data.open(files / "t.csv").qid.tolist() == [0, 0, 1]
    assert data.open(files / "t.csv", encode="auto").qid.tolist() == [0, 0, 1]


def test_own_queries_go_first(files):
    (files / "own.svm.query").write_text("60\n")
    assert len(np.unique(data.open(files / "own.svm").qid)) == 10


@pytest.mark.parametrize(
    "text, told",
    [
        ("3\n", "3 rows together; expected 60"),
        ("6\nx\n", ":2: found 'x'"),
        ("0\n", "'0'"),
        ("7\n" * 100, "63 rows or more together"),
        (" 1" * 5000, ":1: found '1 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(files, text, told):
    for side in files.glob("bare.svm.*"):
        side.write_text(text)
    for read in (data.open, data.open_source):
        with pytest.raises(data.DataError, match=told):
            read(files / "bare.svm")


def test_workers_of_a_cluster_number_the_queries_of_each_file(files):
    distributed = pytest.importorskip("distributed")
    from maxmargin.distributed import RankSVM as OnCluster

    one = RankSVM(tol=1e-5).fit([files / "bare.svm", files / "bare.svm"])
    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        paths = [str(files / "bare.svm")] * 2
        remote = OnCluster(tol=1e-5, client=client).fit(paths)
    assert remote.certificate_.primal == pytest.approx(one.certificate_.primal, rel=2e-5)


def test_ranking_without_queries_is_a_warning(files):
    for side in files.glob("bare.svm.*"):
        side.unlink()
    with pytest.warns(UserWarning, match="no queries"):
        RankSVM().fit(str(files / "bare.svm"))
    ranker = RankSVM().fit(str(files / "own.svm"))
    given = queries()
    with pytest.warns(UserWarning, match="without qid"):
        ranker.score(given.X, given.y)
