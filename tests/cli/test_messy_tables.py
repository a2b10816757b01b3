"""What people's files are like, and what is said about them."""

import numpy as np
import pytest

import maxmargin

N = 60
DISK = pytest.mark.parametrize("more", [(), ("--from-disk",)], ids=["memory", "disk"])


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes p.csv: a name line and rows of text, all of the same separator."""
    monkeypatch.chdir(tmp_path)

    def write(names, rows, separator=",", name="p.csv"):
        lines = [separator.join(map(str, row)) for row in ([names] if names else []) + rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    return write


def people(spent="{:.2f}"):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(N):
        amount = rng.exponential(900.0)
        bought = "yes" if amount > 500 else "no"
        rows.append((rng.choice(["Rome", "Oslo"]), spent.format(amount), bought))
    return rows


NAMES = ("city", "spent", "bought")


@DISK
@pytest.mark.parametrize("style", ["point", "comma", "money", "per cent"])
def test_numbers_as_people_write_them_are_numbers(run, write, style, more):
    rows = people()
    if style == "comma":
        rows = [(c, s.replace(".", ","), b) for c, s, b in rows]
    rows = [(c, {"money": f"${s}", "per cent": f"{s} %"}.get(style, s), b) for c, s, b in rows]
    write(NAMES, rows, ";")
    outcome = run("train", "p.csv", "m", "--target", "bought", "-c", "100", *more)
    assert outcome.exit_code == 0
    way = {"point": "", "comma": "written as 1.234,56, "}.get(style, "written as 1,234.56, ")
    assert f"spent  number     1 feature  {way}minus" in outcome.stderr
    assert "accuracy 100.0000% (60 of 60)" in run("predict", "p.csv", "m", "--out", "p").stderr


@DISK
def test_row_names_without_a_name_are_left_out(run, write, more):
    write(('""', *NAMES), [(j + 1, *row) for j, row in enumerate(people())])
    outcome = run("train", "p.csv", "m", "--target", "bought", *more)
    assert "column 1  left out              numbers the rows" in outcome.stderr
    predicted = run("predict", "p.csv", "m")
    assert len(predicted.stdout.split()) == N and "ignored" not in predicted.stderr


def test_columns_may_be_parted_by_bars(run, write):
    write(NAMES, people(), "|")
    assert run("train", "p.csv", "m", "--target", "bought").exit_code == 0


def test_a_bar_of_vowpal_wabbit_parts_no_columns(run, write):
    write(None, [("1 |f a:1 b:2",), ("-1 |f a:2",)])
    assert "expected svmlight text" in run("train", "p.csv", "m").stderr


@pytest.mark.parametrize("typed", ["bougth", "BOUGHT", "'bought"])
def test_a_misspelled_target_is_answered_with_the_right_name(run, write, typed):
    write(NAMES, people())
    said = run("train", "p.csv", "m", "--target", typed).stderr
    assert "expected one of 'city', 'spent', 'bought'; did you mean 'bought'?" in said


def test_a_name_in_a_file_without_names_is_answered_with_positions(run, write):
    write(None, people())
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "the first line has no names; expected a position from 0 to 2 (-1 is the last)" in said


def test_the_column_that_was_taken_is_the_one_that_is_told(run, write):
    write(None, people())
    assert "labels were taken from the first column," in run("train", "p.csv", "m").stderr
    write(None, [(len(city), spent, bought) for city, spent, bought in people()])
    assert "taken from the only column of words" in run("train", "p.csv", "m2").stderr


def test_labels_that_differ_in_capitals_only_are_pointed_out(run, write):
    rows = people()
    rows[3] = ("Rome", "900", "Yes")
    write(NAMES, rows)
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "'Yes' and 'yes' are classes of their own, which differ in capitals only" in said


def test_labels_that_the_model_never_gives_are_named(run, write):
    write(NAMES, people())
    run("train", "p.csv", "m", "--target", "bought")
    assert "does not know" not in run("evaluate", "p.csv", "m").stderr
    write(NAMES, [(city, spent, bought == "yes") for city, spent, bought in people()])
    said = run("evaluate", "p.csv", "m").stderr
    assert "the model (no, yes) does not know the labels False, True: such rows count as" in said


def test_info_tells_what_becomes_of_each_column(run, write):
    write((*NAMES, "same"), [(*row, "x") for row in people()])
    run("train", "p.csv", "m", "--target", "bought")
    text = run("info", "m").stdout
    for line in ("city: category, 2 features", "spent: number, 1 feature", "bought: the target"):
        assert line in text
    assert "same: left out, the same value in every row" in text


def test_info_tells_what_train_would_make_of_a_table(run, run_json, write):
    write((*NAMES, "same"), [(*row, "x") for row in people("${:.2f}")])
    told = run("info", "p.csv").stdout
    for line in ("city: category, 2 features", "spent: number, 1 feature", "same: left out"):
        assert line in told
    assert "bought: category, 2 features" in told
    facts = run_json("info", "p.csv", "--target", "bought")
    assert facts["rows"] == N and facts["encoding"]["target"] == "bought"
    assert sum(count for _, count in facts["labels"]) == N


def test_info_names_what_is_wrong_with_a_table(run, write):
    rows = people()
    rows[5] = ("Rome",)
    write(NAMES, rows)
    outcome = run("info", "p.csv")
    assert outcome.exit_code == 1 and "p.csv:7: found 1 field; expected 3" in outcome.stderr
    assert not outcome.stdout


def homes(price):
    rng = np.random.default_rng(0)
    areas = rng.integers(30, 150, N)
    return [(rng.choice(["Rome", "Oslo"]), area, price(1000.0 * area + 0.5)) for area in areas]


def in_german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


REGRESSIONS = [
    ("--kind", "regression"),
    ("--kind", "regression", "--from-disk"),
    ("--kind", "kernel-regression"),
    ("--kind", "stream-regression"),
]


@pytest.mark.parametrize("kind", REGRESSIONS, ids=" ".join)
@pytest.mark.parametrize("price", [in_german, "${:,.2f}".format], ids=["comma", "money"])
def test_numbers_to_predict_may_be_written_as_people_do(run, run_json, write, kind, price):
    write(("city", "area", "price"), homes(str), ";", "plain.csv")
    write(("city", "area", "price"), homes(price), ";", "written.csv")
    for name in ("plain", "written"):
        outcome = run("train", f"{name}.csv", name, "--target", "price", *kind, "-c", "1e4")
        assert outcome.exit_code == 0, outcome.stderr
    judged = run_json("evaluate", "plain.csv", "plain")["functions"][0]["mae"]
    assert judged < 1e4
    for more in ((), ("--from-disk",)):
        found = run_json("evaluate", "written.csv", "written", *more)["functions"][0]["mae"]
        assert found == pytest.approx(judged, abs=0.01)


@DISK
def test_targets_of_a_few_rows_are_read_as_in_training(run, run_json, write, more):
    write(("city", "area", "price"), homes(in_german), ";")
    run("train", "p.csv", "m", "--target", "price", "--kind", "regression", "-c", "1e5")
    write(("city", "area", "price"), [("Rome", 50, "50.000"), ("Oslo", 60, "60.001")], ";")
    error = run_json("evaluate", "p.csv", "m", *more)["functions"][0]["mae"]
    assert error < 100  # they are thousands here, though they look like 50 and 60.001


@DISK
def test_a_target_that_is_no_number_is_named_with_its_line(run, write, more):
    rows = homes(in_german)
    rows[6] = ("Rome", 50, "on request")
    write(("city", "area", "price"), rows, ";")
    outcome = run("train", "p.csv", "m", "--target", "price", "--kind", "regression", *more)
    assert outcome.exit_code == 1
    assert "p.csv:8: column 'price': found 'on request'; expected a number" in outcome.stderr


def test_classes_written_like_numbers_stay_as_they_are(run, write):
    rows = [(city, area, "10 %" if area > 90 else "5 %") for city, area, _ in homes(str)]
    write(("city", "area", "discount"), rows, ";")
    assert run("train", "p.csv", "m", "--target", "discount").exit_code == 0
    assert set(run("predict", "-q", "p.csv", "m").stdout.split("\n")) == {"10 %", "5 %", ""}


@pytest.mark.parametrize(
    ("name", "start", "told"),
    [
        ("p.xlsx", b"PK\3\4....", "is an Excel workbook or a zip archive"),
        ("p.xls", b"\xd0\xcf\x11\xe0....", "is a workbook of an old Excel; "),
        ("p.json", b'[{"a": 1, "y": 2}, {"a": 3, "y": 4}]', "is JSON; "),
        ("p.jsonl", b'{"a": 1, "y": 2}\n{"a": 3, "y": 4}\n', "is JSON; "),
        ("p.csv", b"<!DOCTYPE html><p>404, not found</p>", "is a web page; "),
        ("p.npy", b"\x93NUMPY\1\0v\0", "is an array of numpy; "),
        ("p.pkl", b"\x80\4\x95....", "is a pickle; "),
        ("p.tar", b"p.csv".ljust(257, b"\0") + b"ustar", "is a tar archive; "),
    ],
)
def test_other_formats_are_called_by_their_names(run, tmp_path, name, start, told):
    (tmp_path / name).write_bytes(start)
    outcome = run("train", str(tmp_path / name), str(tmp_path / "m"))
    assert outcome.exit_code == 1
    assert told.replace("; ", "; expected svmlight text, CSV, Parquet") in outcome.stderr


@pytest.mark.parametrize("first", ["sep=;", "# written by a tool\n# on a day"])
def test_lines_before_the_table_are_named(run, write, tmp_path, first):
    write(NAMES, people(), ";")
    (tmp_path / "p.csv").write_text(first + "\n" + (tmp_path / "p.csv").read_text())
    outcome = run("train", "p.csv", "m", "--target", "bought")
    assert outcome.exit_code == 1
    assert f"p.csv:1: found '{first.splitlines()[0]}', a" in outcome.stderr
    assert "; delete it" in outcome.stderr


@DISK
def test_a_quote_that_is_never_closed_is_named_with_its_line(run, write, tmp_path, more):
    """The rest of the file would be one label."""
    rows = people()
    rows[30] = ("Rome", "5", '"yes')
    write(NAMES, rows)
    outcome = run("train", "p.csv", "m", "--target", "bought", *more)
    assert outcome.exit_code == 1 and not (tmp_path / "m").exists()
    assert "p.csv:32: a quote is opened and never closed" in outcome.stderr


def test_a_quote_that_swallows_fields_is_named_with_its_line(run, write):
    write(NAMES, [*people(), ('"Rome', "5", "yes"), ("Oslo", "5", "no")])
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "p.csv:62: found 1 field; expected 3" in said
    assert "close the quote that is opened on line 62" in said


def test_lines_may_end_as_on_old_macs(run, write, tmp_path):
    write(NAMES, people())
    text = (tmp_path / "p.csv").read_text()
    (tmp_path / "p.csv").write_text(text.replace("\n", "\r"), newline="")
    outcome = run("train", "p.csv", "m", "--target", "bought")
    assert f"{N} rows x 3 features, 2 classes" in outcome.stderr
    said = run("train", "p.csv", "m", "--target", "bought", "--from-disk").stderr
    assert "ends its lines in a carriage return" in said


def test_a_table_of_one_column_is_no_svmlight_text(run, write):
    write(("bought",), [("yes",), ("no",)])
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "found no feature column beside ['bought']; expected at least one" in said


@DISK
def test_times_of_the_day_are_seconds_and_the_same_from_every_library(run, write, more):
    pandas = pytest.importorskip("pandas")
    rows = [
        (f"{j % 24:02}:{j % 60:02}:07", j % 7, "no" if j % 24 < 12 else "yes") for j in range(N)
    ]
    write(("left", "size", "late"), rows)
    outcome = run("train", "p.csv", "m", "--target", "late", *more)
    assert "left  date    1 feature  in seconds, minus" in outcome.stderr
    model = maxmargin.load("m")
    expected = model.decision_function("p.csv")
    np.testing.assert_array_equal(model.decision_function(pandas.read_csv("p.csv")), expected)


def test_numbers_written_otherwise_than_in_training_are_told_how(run, write):
    write(NAMES, [(c, s.replace(".", ","), b) for c, s, b in people()], ";")
    run("train", "p.csv", "m", "--target", "bought")
    write(NAMES, people(), ";")
    said = run("predict", "p.csv", "m").stderr
    assert "expected a number written as 1.234,56; such values count as missing" in said


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_a_model_and_rows_in_the_wrong_order_are_told_the_right_one(run, write, command):
    write(NAMES, people())
    run("train", "p.csv", "m", "--target", "bought")
    wrong = ("p.csv", "m") if command == "report" else ("m", "p.csv")
    outcome = run(command, *wrong)
    assert outcome.exit_code == 2
    assert "m is a model, and p.csv is none; expected maxmargin" in outcome.stderr
