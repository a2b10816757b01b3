"""Tables as they come, from the command line: one command to a model that knows its columns."""

import json

import numpy as np
import pandas as pd
import pytest

import maxmargin
from maxmargin.models import load_model

N = 300


def churn(seed=0):
    rng = np.random.default_rng(seed)
    plan = np.array(["basic", "plus", "pro"])[rng.integers(3, size=N)]
    age = rng.normal(45, 12, size=N).round(1)
    spent = np.where(rng.random(N) < 0.7, 0.0, rng.exponential(50, N)).round(2)
    since = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(900, size=N), "D")
    score = (plan == "basic") * 2 + (age - 45) / 12 - spent / 40 + rng.normal(size=N) * 0.3
    frame = pd.DataFrame(
        {
            "plan": plan,
            "age": np.where(rng.random(N) < 0.1, np.nan, age),
            "spent": spent,
            "since": since.strftime("%Y-%m-%d"),
            "query": np.sort(rng.integers(10, size=N)),
            "importance": rng.integers(1, 3, size=N),
            "grade": np.clip(np.round(score), -1, 2).astype(int),
            "churned": np.where(score > 0.7, "yes", "no"),
        }
    )
    return frame


LEFT = ("--drop", "grade", "--drop", "query")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """churn.csv to train on, and the same rows to test in several formats and orders."""
    frame, test = churn(), churn(1)
    frame.to_csv(tmp_path / "churn.csv", index=False)
    test.to_csv(tmp_path / "test.csv", index=False)
    shuffled = test.assign(extra=1)[["extra", *test.columns[::-1]]]
    shuffled.to_csv(tmp_path / "shuffled.csv", index=False)
    shuffled.to_csv(tmp_path / "shuffled.tsv", index=False, sep="\t")
    test.to_parquet(tmp_path / "test.parquet")
    test.astype({"plan": "category"}).to_feather(tmp_path / "test.arrow")
    test.drop(columns="churned").to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return test


def train(run, *args):
    outcome = run("train", "churn.csv", "m", *args)
    assert outcome.exit_code == 0, outcome.stderr
    return outcome


def test_what_was_done_to_each_column_is_said(run, tables):
    said = train(run, "--target", "churned", "--weight", "importance", *LEFT).stderr
    lines = {line.split()[0]: line for line in said.splitlines() if line.startswith("  ")}
    assert set(lines) == {"plan", "age", "spent", "since", "grade", "query"}
    assert "category  3 features" in lines["plan"]
    assert "missing values get an indicator" in lines["age"]
    assert "left out" in lines["grade"]
    assert "--encode none" in said
    assert run("train", "-q", "churn.csv", "m", "--target", "churned").stderr == ""


def test_machines_are_told_what_was_done_to_each_column(run_json, run, tables):
    told = run_json("train", "churn.csv", "m", "--target", "churned", *LEFT)["encoding"]
    assert told == run_json("info", "m")["encoding"]
    assert {"name": "plan", "kind": "category", "features": 3} in told["columns"]
    assert set(told["left_out"]) == {"grade", "query"}
    assert told["target"] == "churned"


def test_the_model_remembers_the_columns(run, tables):
    train(run, "--target", "churned", "--weight", "importance", *LEFT)
    encoder = load_model("m").encoder
    assert encoder.roles == {"target": "churned", "weight": "importance"}
    assert encoder.inputs == ["plan", "age", "spent", "since"]
    told = json.loads(run("evaluate", "test.csv", "m", "--json").stdout)
    assert told["accuracy"] > 0.85
    assert told["rows"] == tables["importance"].sum()  # rows count by their weights


@pytest.mark.parametrize(
    "name", ["test.parquet", "test.arrow", "shuffled.csv", "shuffled.tsv", "new.csv"]
)
@pytest.mark.parametrize("more", [[], ["--from-disk"]], ids=["memory", "disk"])
def test_the_same_rows_of_any_file_are_predicted_alike(run, tables, name, more):
    train(run, "--target", "churned", *LEFT)
    expected = run("predict", "test.csv", "m", "--scores")
    found = run("predict", name, "m", "--scores", *more)
    assert found.exit_code == 0, found.stderr
    assert found.stdout == expected.stdout
    assert ("accuracy" in found.stderr) == (name != "new.csv")
    ignored = "the column 'extra' was not in the training table and is ignored"
    assert (ignored in found.stderr) == name.startswith("shuffled")


def test_tables_in_memory_are_predicted_alike(run, tables):
    train(run, "--target", "churned", *LEFT)
    model = maxmargin.load("m")
    expected = model.decision_function("test.csv")
    assert model.feature_names_in_.tolist() == ["plan", "age", "spent", "since", "importance"]
    shuffled = tables[tables.columns[::-1]]
    np.testing.assert_array_equal(model.decision_function(shuffled), expected)
    polars = pytest.importorskip("polars")
    np.testing.assert_array_equal(model.decision_function(polars.from_pandas(tables)), expected)
    assert model.score("test.csv") == model.score(tables, tables["churned"])


KINDS = {
    "linear": ["--target", "churned"],
    "kernel": ["--target", "churned"],
    "sparse-kernel": ["--target", "churned", "-k", "10"],
    "measure": ["--target", "churned"],
    "stream": ["--target", "churned"],
    "sparse-kernel-regression": ["--target", "grade", "--drop", "churned", "-k", "10"],
    "sparse-kernel-ordinal": ["--target", "grade", "--drop", "churned", "-k", "10"],
    "sparse-kernel-rank": [
        *("--target", "grade", "--qid", "query", "--drop", "churned", "-k", "10")
    ],
    "ordinal": ["--target", "grade", "--drop", "churned"],
    "rank": ["--target", "grade", "--qid", "query", "--drop", "churned"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_trains_on_a_table(run, tables, kind):
    train(run, "--kind", kind, *KINDS[kind])
    judged = run("evaluate", "shuffled.csv", "m")
    assert judged.exit_code == 0, judged.stderr
    from_file = run("predict", "-q", "test.parquet", "m")
    in_memory = maxmargin.load("m").predict(tables)
    assert from_file.stdout.split() == [str(label) for label in in_memory.tolist()]


@pytest.mark.parametrize("kind", ["linear", "measure"])
def test_rows_left_on_disk_give_the_same_encoding(run, tables, kind):
    train(run, "--kind", kind, "--target", "churned")
    in_memory = load_model("m")
    outcome = run("train", "churn.csv", "d", "--kind", kind, "--target", "churned", "--from-disk")
    if outcome.exit_code == 2:
        pytest.skip(f"--kind {kind} keeps rows in memory")
    assert outcome.exit_code == 0, outcome.stderr
    assert load_model("d").encoder == in_memory.encoder


def test_cross_validation_keeps_the_encoding(run, tables):
    outcome = run("cv", "churn.csv", "m", "--target", "churned", "--Cs", "0.1,1", *LEFT)
    assert outcome.exit_code == 0, outcome.stderr
    assert run("evaluate", "new.csv", "m").exit_code == 1  # it has no labels
    assert run("evaluate", "shuffled.csv", "m").exit_code == 0


def test_missing_columns_are_named_in_one_sentence(run, tables, tmp_path):
    train(run, "--target", "churned", *LEFT)
    tables[["age", "since"]].to_csv("few.csv", index=False)
    for more in ([], ["--from-disk"]):
        outcome = run("predict", "few.csv", "m", "out", *more)
        assert outcome.exit_code == 1
        assert "few.csv: found no columns 'plan', 'spent'" in outcome.stderr
        assert not (tmp_path / "out").exists()


def test_svmlight_is_refused_by_a_model_of_a_table(run, tables, tmp_path):
    train(run, "--target", "churned", *LEFT)
    (tmp_path / "rows.svm").write_text("1 1:2\n")
    for more in ([], ["--from-disk"]):
        outcome = run("predict", "rows.svm", "m", *more)
        assert outcome.exit_code == 1 and "table" in outcome.stderr


def test_a_column_that_tells_the_label_is_pointed_out(run, tables, tmp_path):
    churn().assign(again=churn()["churned"] == "yes").to_csv("churn.csv", index=False)
    said = train(run, "--target", "churned").stderr
    assert "warning: churn.csv: the column 'again' tells the label 'churned'" in said
    assert "--drop again" in said
    assert "again" not in run("train", "-q", "churn.csv", "m", "--target", "churned", "--drop",
                              "again").stderr  # fmt: skip


def test_a_table_of_numbers_is_scaled_and_said_to_be(run, tables):
    churn()[["age", "spent", "churned"]].fillna(0).to_csv("churn.csv", index=False)
    assert "scaled" in train(run, "--target", "churned").stderr
    assert load_model("m").encoder is not None
    assert "scaled" not in train(run, "--target", "churned", "--encode", "none").stderr
    assert load_model("m").encoder is None


def test_text_in_a_strict_table_is_refused_as_before(run, tables):
    outcome = run("train", "churn.csv", "m", "--target", "churned", "--encode", "none")
    assert outcome.exit_code == 1 and "expected a number" in outcome.stderr


def test_a_table_without_names_is_matched_by_position(run, tables):
    frame = churn()[["plan", "age", "spent", "churned"]].dropna()
    frame.to_csv("churn.csv", index=False, header=False)
    train(run, "--target", "-1")
    expected = run("predict", "-q", "churn.csv", "m").stdout
    frame.drop(columns="churned").to_csv("new.csv", index=False, header=False)
    assert run("predict", "-q", "new.csv", "m").stdout == expected


@pytest.mark.parametrize("change", ["columns", "roles", "width"])
def test_a_damaged_encoding_is_refused(run, tables, tmp_path, change):
    train(run, "--target", "churned", *LEFT)
    raw = (tmp_path / "m").read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    inner = json.loads(header["__metadata__"]["maxmargin"])
    encoder = inner["content"]["encoder"]
    if change == "columns":
        encoder["columns"][0]["kind"] = "code"
    elif change == "roles":
        encoder["roles"] = ["target"]
    else:
        encoder["columns"].pop()
    header["__metadata__"]["maxmargin"] = json.dumps(inner)
    text = json.dumps(header).encode()
    (tmp_path / "m").write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])
    outcome = run("predict", "test.csv", "m")
    assert outcome.exit_code == 1 and "cannot load m" in outcome.stderr


# ---------------------------------------------------------------- other doors


def onnx_inputs(session, frame):
    days = (pd.to_datetime(frame["since"]) - pd.Timestamp(0)).dt.days
    inputs = {}
    for given in session.get_inputs():
        column = days if given.name == "since" else frame[given.name]
        text = "string" in given.type
        values = column.fillna("").to_numpy(object) if text else column.to_numpy(np.float64)
        inputs[given.name] = values.reshape(-1, 1)
    return inputs


@pytest.mark.parametrize("kind", ["linear", "sparse-kernel", "stream"])
def test_onnx_takes_the_columns_and_scores_them_alike(run, tables, kind):
    runtime = pytest.importorskip("onnxruntime")
    train(run, "--kind", kind, "--target", "churned", *LEFT)
    assert run("export", "m", "m.onnx").exit_code == 0
    session = runtime.InferenceSession("m.onnx")
    test = tables.copy()
    test.loc[:5, "plan"] = "never seen"
    test.loc[6:9, "plan"] = None
    test.loc[:3, "spent"] = np.nan
    label, scores = session.run(None, onnx_inputs(session, test))
    model = load_model("m")
    np.testing.assert_allclose(scores, model.decision_function(test), rtol=1e-9, atol=1e-9)
    assert label.tolist() == model.predict(test).tolist()


def test_a_column_may_have_the_name_of_an_output(run, tables):
    runtime = pytest.importorskip("onnxruntime")
    churn().rename(columns={"plan": "label", "age": "scores"}).to_csv("churn.csv", index=False)
    train(run, "--target", "churned", *LEFT)
    assert run("export", "m", "m.onnx").exit_code == 0
    names = [given.name for given in runtime.InferenceSession("m.onnx").get_inputs()]
    assert names[:2] == ["label_", "scores_"]


def test_what_other_formats_cannot_hold_is_refused(run, tables):
    train(run, "--target", "churned", *LEFT)
    outcome = run("export", "m", "m.liblinear")
    assert outcome.exit_code == 1 and "--encode none" in outcome.stderr
    notes = churn().assign(note=[f"a long note of many words {i}" for i in range(N)])
    notes.to_csv("churn.csv", index=False)
    train(run, "--target", "churned", *LEFT)
    outcome = run("export", "m", "m.onnx")
    assert outcome.exit_code == 1 and "column of text 'note'" in outcome.stderr


def by_file(name, *more):
    """Scores as the command writes them: the shortest text that is the number again."""

    def scores(run, test):
        outcome = run("predict", "-q", name, "m", "--scores", *more)
        assert outcome.exit_code == 0, outcome.stderr
        return [float(line.split()[-1]) for line in outcome.stdout.splitlines()]

    return scores


def by_polars(run, test):
    polars = pytest.importorskip("polars")
    return maxmargin.load("m").decision_function(polars.from_pandas(test[test.columns[::-1]]))


def by_onnx(run, test):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    assert run("export", "m", "m.onnx").exit_code == 0
    session = runtime.InferenceSession("m.onnx")
    return session.run(["scores"], onnx_inputs(session, test))[0]


def by_dask(run, test):
    dataframe = pytest.importorskip("dask.dataframe")
    from maxmargin.distributed import LinearSVC

    partitions = dataframe.from_pandas(test[test.columns[::-1]], npartitions=3)
    return LinearSVC.from_model(load_model("m")).decision_function(partitions).compute()


DOORS = {
    "CSV, columns shuffled": by_file("shuffled.csv"),
    "CSV from disk": by_file("shuffled.csv", "--from-disk"),
    "Parquet": by_file("test.parquet"),
    "Arrow": by_file("test.arrow"),
    "pandas": lambda run, test: maxmargin.load("m").decision_function(test[test.columns[::-1]]),
    "polars": by_polars,
    "ONNX": by_onnx,
    "Dask": by_dask,
}


@pytest.mark.parametrize("door", DOORS)
def test_the_same_model_predicts_the_same_by_every_door(run, tables, door):
    train(run, "--target", "churned", "--weight", "importance", *LEFT)
    model = load_model("m")
    expected = model.decision_function(tables)
    found = np.asarray(DOORS[door](run, tables))
    rounding = 1e-12 if door == "ONNX" else 0.0  # its runtime sums in an order of its own
    np.testing.assert_allclose(found, expected, rtol=rounding, atol=rounding)
    assert np.ptp(expected) > 1 and set(model.predict(tables)) == {"yes", "no"}


def people(n=60):
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 80, n).tolist()
    return [
        (age, ("Rome", "Oslo")[k % 2], "yes" if age > 45 else "no") for k, age in enumerate(ages)
    ]


def write_people(path, rows, separator=",", **how):
    lines = [separator.join(map(str, row)) for row in [("age", "city", "bought"), *rows]]
    path.write_text("\n".join(lines) + "\n", **how)


BOTH = pytest.mark.parametrize("more", [(), ("--from-disk",)], ids=["memory", "disk"])


@BOTH
def test_all_lines_with_a_wrong_number_of_fields_are_told_together(
    run, tmp_path, monkeypatch, more
):
    monkeypatch.chdir(tmp_path)
    rows = people()
    rows[5], rows[8] = (30, "Rome"), (30, "Rome", "yes", "more")
    write_people(tmp_path / "p.csv", rows)
    said = run("train", "p.csv", "m", "--target", "bought", *more).stderr
    assert "p.csv:7: found 2 fields; expected 3" in said
    assert "also line 10: found 4 fields; expected 3" in said and not (tmp_path / "m").exists()


def test_words_in_columns_of_numbers_are_told_together(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(age, "word" if k in (3, 20, 31) else 1, y) for k, (age, _, y) in enumerate(people())]
    write_people(tmp_path / "p.csv", rows)
    said = run("train", "p.csv", "m", "--target", "bought", "--encode", "none").stderr
    assert "p.csv:5: column 'city': found 'word'; expected a number" in said
    assert "line 22: column 'city': found 'word'" in said and "line 33: " in said


def test_words_among_numbers_that_stay_on_disk_are_told_together(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    far = 600_000  # so the first look takes the column for numbers
    rows = [(k, 1, k % 2) for k in range(far)] + [(1, "word", 1), (2, 2, 0), (3, "x", 1)]
    write_people(tmp_path / "p.csv", rows)
    said = run(
        "train", "p.csv", "m", "--target", "bought", "--encode", "none", "--from-disk"
    ).stderr
    assert f"p.csv:{far + 2}: column 'city': found 'word'; expected a number" in said
    assert f"also line {far + 4}: column 'city': found 'x'" in said


@BOTH
def test_blanks_around_names_are_no_part_of_them(run, tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    lines = ["", " age , city,bought  ", *(",".join(map(str, row)) for row in people())]
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    outcome = run("train", "p.csv", "m", "--target", "bought", "--drop", "city", *more)
    assert outcome.exit_code == 0, outcome.stderr
    assert load_model("m").encoder.inputs == ["age"]
    write_people(tmp_path / "q.csv", people())
    assert run("predict", "q.csv", "m", "out", *more).exit_code == 0
    (tmp_path / "p.csv").write_text("\n".join([*lines, "1,2"]) + "\n")
    assert f"p.csv:{len(lines) + 1}: found 2 fields" in run("train", "p.csv", "n", *more).stderr


def test_no_more_than_ten_faults_are_told(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "p.csv", [(*row, 1) for row in people()])
    write_people(tmp_path / "p.csv", [*people(2), *[(*row, 1) for row in people()]])
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert said.count("found 4 fields") == 10 and "; and more" in said


def test_faults_of_svmlight_text_are_told_together(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 2} 1:{k}" for k in range(30)]
    lines[4], lines[9], lines[20] = "x 1:2", "1 3:1 2:1", "1 a:3"
    (tmp_path / "p.svm").write_text("\n".join(lines) + "\n")
    said = run("train", "p.svm", "m").stderr
    assert "p.svm:5: found label 'x'" in said
    assert "also line 10: found index 2 after index 3" in said and "also line 21: " in said


def test_rows_without_a_target_are_told_together(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(a, c, "" if k in (4, 9, 11) else y) for k, (a, c, y) in enumerate(people())]
    write_people(tmp_path / "p.csv", rows)
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "p.csv:6: column 'bought'" in said and "also in rows 10, 12" in said


@pytest.mark.parametrize("more", [(), ("--from-disk",)], ids=["memory", "disk"])
def test_a_word_among_numbers_at_prediction_is_named_with_file_and_line(
    run, tmp_path, monkeypatch, more
):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "p.csv", people())
    assert run("train", "p.csv", "m", "--target", "bought").exit_code == 0
    rows = [("old" if k == 7 else a, c, y) for k, (a, c, y) in enumerate(people())]
    write_people(tmp_path / "new.csv", rows)
    said = run("predict", "new.csv", "m", "labels.txt", *more).stderr
    assert "new.csv:9: column 'age': found 'old'; expected a number" in said


def test_text_that_is_no_utf_8_is_answered_with_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(a, "Köln", y) for a, _, y in people()]
    write_people(tmp_path / "p.csv", rows, encoding="latin-1")
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "column 'city' holds bytes that are no UTF-8" in said and "iconv" in said


def test_labels_that_are_all_the_same_are_named_with_the_file(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "p.csv", [(a, c, "yes") for a, c, _ in people()])
    said = run("train", "p.csv", "m", "--target", "bought").stderr
    assert "p.csv: found one class only, yes, in all 60 rows" in said and "--target" in said


def test_ids_come_from_any_csv_that_can_be_read(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path / "p.csv", people(), separator=";", encoding="utf-16")
    assert run("train", "p.csv", "m", "--target", "bought").exit_code == 0
    done = run("predict", "p.csv", "m", "--out", "labels.csv", "--id", "city")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "labels.csv").read_text().startswith('"city","label"\n"Rome",')
