"""Reports: what they say of every kind of model, and that they are one safe page each."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin
from maxmargin import KernelSVCCV, LinearSVC, LinearSVCCV, RankSVM, data
from maxmargin.models.files import kinds
from maxmargin.report import Rows, Subject, make_report
from maxmargin.report.charts import Chart, Section
from maxmargin.report.markup import element, label, visible
from tests.report.kinds import REPORTS, made

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u202e\x00<b>"
VOID = {"meta", "line", "circle", "rect", "polyline", "polygon"}


class Reader(HTMLParser):
    """Notes tags and attributes, and fails where they do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def check_page(html: str) -> Reader:
    """One page below 1 MB that asks nobody for anything and says what its pictures show."""
    assert len(html.encode()) < 1_000_000
    page = read(html)
    names = [tag for tag, _ in page.tags]
    assert not {"script", "img", "link", "iframe", "object", "embed", "form"} & set(names)
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert attributes.get("href", "#").startswith("#")
        if tag == "svg":
            assert attributes["role"] == "img" and attributes["aria-labelledby"]
    assert "url(" not in html and "@import" not in html
    assert any(a.get("http-equiv") == "Content-Security-Policy" for _, a in page.tags)
    assert names.count("title") >= 1 + names.count("svg") == 1 + names.count("desc")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [a["href"][1:] for tag, a in page.tags if tag == "a"]
    assert set(links) <= set(ids)
    return page


@pytest.fixture(scope="module")
def rows():
    return data.load_demo()


def small(kind: str):
    """A fitted estimator and rows for its report."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=400)
    grades, qid = np.digitize(y, [-0.5, 0.5]), np.repeat(np.arange(20), 20)
    if kind == "RankSVM":
        return RankSVM().fit(X, grades, qid=qid), {"X": X, "y": grades, "qid": qid}
    labels = grades if kind in ("OrdinalSVC", "several") else (y > 0).astype(int)
    name = "LinearSVC" if kind == "several" else kind
    options = {"SparseKernelSVC": {"n_basis": 5}}.get(kind, {})
    if kind == "KernelSVCCV":
        options = {"Cs": [0.1, 1], "gammas": [0.1, 1], "cv": 3}
    machine = getattr(maxmargin, name)(**options)
    return machine.fit(X, labels), {"X": X, "y": labels}


WANTED = {
    "LinearSVC": {
        "summary",
        "certificate",
        "convergence",
        "confusion",
        "curves",
        "scores",
        "weights",
    },
    "several": {"summary", "confusion", "curves", "weights"},
    "LinearSVCCV": {"search", "weights"},
    "KernelSVC": {"vectors", "curves"},
    "KernelSVCCV": {"search", "vectors"},
    "SparseKernelSVC": {"vectors"},
    "RankSVM": {"ranking", "weights"},
    "OrdinalSVC": {"confusion", "weights"},
    "MeasureSVC": {"summary", "curves", "scores"},
    "StreamSVC": {"summary", "weights"},
}


@pytest.mark.parametrize("kind", sorted(WANTED))
def test_every_kind_of_model_has_a_page(kind):
    machine, given = small(kind)
    made = machine.report(given.pop("X"), given.pop("y"), **given)
    assert set(made.sections) >= WANTED[kind] | {"machine", "certificate", "data"}
    page = check_page(made.html())
    assert str(machine.certificate_)[1:] in page.text


@pytest.mark.parametrize("kind", sorted(REPORTS))
def test_real_data_give_a_whole_page_with_pictures_that_differ(kind):
    pytest.importorskip("pandas")
    page = check_page(made(kind).html())
    titles = [chart.title for section in made(kind).sections.values() for chart in section.charts]
    assert titles and len(set(titles)) == len(titles)
    assert "A model of the kind" not in page.text and "The search ended early" not in page.text


def test_there_is_a_report_of_every_kind_of_model():
    pytest.importorskip("pandas")
    facts = [made(kind).sections["machine"].tables[0].rows[0] for kind in REPORTS]
    assert {kind for name, kind in facts if name == "kind"} == set(kinds())


def test_errors_of_cells_add_up_to_those_of_the_model():
    X, y = data.load_demo()[0].X[:500].toarray(), data.load_demo()[0].y[:500]
    machine = maxmargin.KernelSVC(gamma=0.05, cells=150).fit(X, y)
    table = machine.report(X, y).sections["cells"].tables[0]
    assert table.columns[-2:] == ["rows", "error"] and len(table.rows) == machine.n_cells_
    rows = [int(row[-2]) for row in table.rows]
    wrong = [int(row[-2]) * float(row[-1].rstrip(" %")) / 100 for row in table.rows]
    assert sum(rows) == 500
    assert sum(wrong) == pytest.approx(500 * (1 - machine.score(X, y)), abs=0.1)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("linear-cv", r"Least validation error: [\d.]+ % at C = "),
        ("regression-cv", r"Least validation loss: [\d.]+ at C = "),
        ("kernel-regression-cv", r"Least validation loss: [\d.]+ at C = .*, gamma = "),
        ("ordinal-cv", r"Least validation mean absolute error: 0\.\d+ at C = "),
        ("rank-cv", r"Best validation ndcg@10: 0\.\d+ at C = "),
        ("measure-cv", r"Best validation f1: 0\.\d+ at C = "),
        ("measure-at-k-cv", r"Best validation roc auc: 0\.\d+ at C = .*, k = "),
    ],
)
def test_a_search_is_told_by_the_measure_that_judged_it(kind, said):
    pytest.importorskip("pandas")
    section = made(kind).sections["search"]
    assert re.match(said, section.text[0])
    assert all("-" not in row[1] for row in section.charts[0].table.rows)  # no loss below 0


def test_the_best_point_of_a_search_is_where_its_score_is_best():
    train, _ = data.load_demo()
    machine = maxmargin.MeasureSVCCV("f1", Cs=[1e-6, 1e-4, 0.1], cv=3)
    machine.fit(train.X[:300], train.y[:300])
    chart = machine.report().sections["search"].charts[0]
    best = chart.series[-1]
    assert best.x[0] == machine.C_ and best.y[0] == pytest.approx(machine.best_score_)
    assert best.y[0] == max(chart.series[1].y)


def test_a_report_without_rows_says_what_the_model_knows():
    machine, _ = small("LinearSVC")
    made = machine.report()
    assert {"machine", "certificate", "convergence", "weights"} <= set(made.sections)
    assert "summary" not in made.sections and "data" not in made.sections
    check_page(made.html())


def test_figures_of_the_page_are_right(rows):
    train, test = rows
    machine = LinearSVC(C=0.1).fit(train.X, train.y)
    made = machine.report(test.X, test.y)
    accuracy = machine.score(test.X, test.y)
    assert f"{100 * accuracy:.2f} %" in made.sections["summary"].text[0]
    by_label = {row[0]: row for row in made.sections["summary"].tables[0].rows}
    from sklearn.metrics import precision_score, roc_auc_score

    assert by_label["1"][1] == f"{precision_score(test.y, machine.predict(test.X)):.4f}"
    area = roc_auc_score(test.y, machine.decision_function(test.X))
    assert by_label["1"][4] == f"{area:.4f}"


def test_labels_and_names_from_strangers_are_shown_not_obeyed():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).normal(size=(60, 2))
    table = pandas.DataFrame(X, columns=[HOSTILE, "x" * 100_000])
    y = np.where(X[:, 0] > 0, HOSTILE, "b\ud800")
    made = LinearSVC().fit(table, y).report(table, y)
    page = check_page(made.html())
    assert "onerror=alert(1)>" in page.text and "\\u202e" in page.text and "\\u0000" in page.text
    frame = read(made._repr_html_()).tags
    assert [tag for tag, _ in frame] == ["iframe"] and frame[0][1]["sandbox"] == ""


def test_text_is_escaped_once_and_markup_never():
    assert element("b", "<i>", title='"') == '<b title="&quot;">&lt;i&gt;</b>'
    assert element("b", element("i", "&")) == "<b><i>&amp;</i></b>"
    assert visible("a\u2028b\u200f") == "a\\u2028b\\u200f"
    assert len(label("x" * 1000)) == 120


def test_an_edge_of_the_grid_is_said():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(int)
    found = LinearSVCCV(Cs=[1e-6, 1e-5, 1e-2], cv=3).fit(X, y).report()
    assert "is the largest that was tried" in " ".join(found.sections["search"].warnings)
    grid = KernelSVCCV(Cs=[1.0, 10.0], gammas=[1e-4, 1e-3], cv=3).fit(X, y).report()
    assert any("gamma" in said or "best C" in said for said in grid.sections["search"].warnings)


def test_a_run_that_missed_its_tolerance_says_so(rows):
    train, _ = rows
    with pytest.warns(Warning, match="best model so far"):
        machine = LinearSVC(solver="ocas", tol=1e-9, max_iter=3).fit(train.X, train.y)
    assert "before the tolerance" in machine.report().sections["certificate"].warnings[0]


@pytest.mark.parametrize(
    ("machine", "names"),
    [
        (maxmargin.LinearSVC(), ["0 against the rest", "1 against the rest", "2 against the rest"]),
        (
            maxmargin.KernelSVC(multi_class="ovo", gamma=0.01),
            ["0 against 1", "0 against 2", "1 against 2"],
        ),
    ],
    ids=["rest", "pairs"],
)
def test_problems_have_the_names_of_their_classes(machine, names):
    X, y = load_iris(return_X_y=True)
    said = read(machine.fit(X, y).report().html()).text
    assert all(name in said for name in names)
    assert "3 problems, at most" in said and "problem 1" not in said


def test_quantiles_are_drawn_as_the_problems_they_are():
    X = load_iris().data
    machine = maxmargin.LinearSVR(loss="quantile", quantile=[0.2, 0.5, 0.9]).fit(X[:, :3], X[:, 3])
    said = read(machine.report().html()).text
    assert "3 problems, at most" in said and said.count("quantile 0.5") >= 2


def test_rows_of_the_fit_itself_are_called_so():
    machine, given = small("LinearSVC")
    rows = Rows(400, 5, trained_on=True)
    made = make_report(Subject(machine.to_model(), rows=rows, y=given["y"]))
    assert "trained on" in made.sections["data"].warnings[0]


def test_many_classes_and_wide_rows_stay_below_a_megabyte():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3000)), np.arange(600) % 60
    with pytest.warns(Warning, match="best model so far"):
        machine = LinearSVC(tol=0.5, max_iter=2).fit(X, y)
    made = machine.report(X, y)
    check_page(made.html())


def test_every_chart_has_its_numbers_in_a_table():
    machine, given = small("LinearSVC")
    for section in machine.report(**given).sections.values():
        assert isinstance(section, Section)
        for chart in section.charts:
            assert chart.table is not None and len(chart.table.rows) > 0
            assert chart.alt.endswith(".")
            if isinstance(chart, Chart):
                assert all(np.isfinite(s.x).all() and np.isfinite(s.y).all() for s in chart.series)


def test_save_replaces_reports_only(tmp_path):
    machine, _ = small("LinearSVC")
    path = tmp_path / "report.html"
    machine.report(path=path)
    first = path.read_text()
    machine.report(path=path)
    assert path.read_text() == first
    path.write_text("<html>mine</html>")
    with pytest.raises(ValueError, match="does not hold a report"):
        machine.report(path=path)
    machine.report(path=path, overwrite=True)
    assert path.read_text() == first


def test_a_fitted_estimator_shows_its_certificate_in_a_notebook():
    machine, _ = small("LinearSVC")
    assert str(machine.certificate_)[1:] in machine._repr_html_()
    assert str(machine.certificate_)[1:] in machine._repr_mimebundle_()["text/html"]
    assert "best possible" not in LinearSVC()._repr_html_()


def test_colours_of_text_have_contrast():
    """At least 4.5 to 1 for text and 3 to 1 for lines, in both colour schemes (WCAG AA)."""
    from maxmargin.report.page import style

    schemes = re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    assert len(schemes) == 3
    for scheme in schemes[:2]:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", scheme))
        for ground in ("paper", "raised"):
            for ink in ("ink", "soft", "link"):
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
            for k in range(6):
                assert contrast(colours[f"c{k}"], colours[ground]) >= 3, (k, ground)
        assert contrast(colours["on"], colours["cell"]) >= 4.5


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
