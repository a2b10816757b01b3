"""The command that writes reports, and the --report of others."""

import pytest


def read(path):
    return (path).read_text(encoding="utf-8")


def test_a_model_and_its_test_rows_become_a_page(run, folder):
    assert run("train", "two.svm", "m.model", "-q").exit_code == 0
    outcome = run("report", "m.model", "two.t.svm", "-o", "page.html")
    assert outcome.exit_code == 0, outcome.stderr
    assert "report in page.html" in outcome.stderr
    assert "Confusion" in read(folder / "page.html")
    assert "best possible" in read(folder / "page.html")
    assert run("report", "m.model", "-o", "page.html", "-q").exit_code == 0  # over a report
    assert "Confusion" not in read(folder / "page.html")


def test_the_page_is_named_after_the_model_unless_told(run, folder):
    assert run("train", "words.csv", "m.model", "-q").exit_code == 0
    assert run("report", "m.model", "words.csv", "--target", "label").exit_code == 0
    assert "spam" in read(folder / "m.model.html")


@pytest.mark.parametrize("command", ["train", "cv", "report"])
def test_a_page_says_what_became_of_each_column(run, folder, command):
    rows = [f"{k},{('Rome', 'Oslo', 'Bonn')[k % 3]},{k % 7},{'yn'[k % 7 > 3]}" for k in range(90)]
    (folder / "t.csv").write_text("id,city,age,bought\n" + "\n".join(rows) + "\n")
    more = [] if command == "report" else ["--report", "page.html"]
    trained = "train" if command == "report" else command
    assert run(trained, "t.csv", "t.model", "--target", "bought", *more).exit_code == 0
    if command == "report":
        assert run("report", "t.model", "t.csv", "-o", "page.html").exit_code == 0
    page = read(folder / "page.html")
    assert "<h1>t.model</h1>" in page and "one feature a value" in page
    assert "what is done" in page and "numbers the rows" in page


@pytest.mark.parametrize("kind", ["linear", "kernel", "sparse-kernel", "stream", "measure"])
def test_train_writes_a_report_of_every_kind(run, folder, kind):
    outcome = run("train", "two.svm", "m", "--kind", kind, "--report", "page.html")
    assert outcome.exit_code == 0, outcome.stderr
    assert "report in page.html" in outcome.stderr
    page = read(folder / "page.html")
    assert "trained on" in page and "Confusion" in page


def test_rows_left_on_disk_are_judged_block_by_block(run, folder):
    args = ("train", "two.svm", "m", "--solver", "ocas", "--from-disk", "--report", "page.html")
    outcome = run(*args)
    assert outcome.exit_code == 0, outcome.stderr
    assert "read block by block" in read(folder / "page.html")


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_cv_reports_its_grid(run, folder, kind):
    outcome = run("cv", "two.svm", "--kind", kind, "--Cs", "0.1,1", "-v", "2", "--report", "p.html")
    assert outcome.exit_code == 0, outcome.stderr
    assert "Least validation error" in read(folder / "p.html")


def test_a_file_that_is_no_report_is_not_written_over(run, folder):
    (folder / "mine.html").write_text("<html>mine</html>")
    assert run("train", "two.svm", "m", "--report", "mine.html").exit_code == 1
    assert not (folder / "m").exists() and read(folder / "mine.html") == "<html>mine</html>"
    assert run("train", "two.svm", "m", "-q").exit_code == 0
    assert run("report", "m", "-o", "two.svm").exit_code == 1
    assert run("report", "m", "-o", "mine.html").exit_code == 1
    assert run("report", "m", "-o", "mine.html", "--force").exit_code == 0


def test_reports_need_no_scikit_learn(program, folder):
    """It takes longer to import than the report to write."""
    import subprocess
    import sys

    code = (
        "import sys; sys.argv = ['maxmargin', 'train', 'two.svm', 'm', '--report', 'p.html']\n"
        "from maxmargin.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'sklearn' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
