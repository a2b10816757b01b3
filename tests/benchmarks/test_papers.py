"""The pages about the papers say what the kept numbers say."""

import dataclasses
import re
import threading

import numpy as np
import pytest
from benchmarks.papers import findings, items, judges, judges_no_offset, pages
from benchmarks.papers.boxes import BOXES
from benchmarks.papers.contents import CONTENTS
from benchmarks.papers.items import HOLDS, Curves, Found, Given, Item, Table
from benchmarks.papers.papers import PAPERS
from benchmarks.paths import PROJECT, RESULTS

from benchmarks import machine

KEPT = RESULTS / "papers"
# What the papers number, by their own counting: none of it may be missing from the lists.
NUMBERED = {
    "ocas": {"Algorithm": 1, "Theorem": 1, "Table": 5, "Figure": 4},
    "svm-perf": {"Algorithm": 2, "Theorem": 6, "Lemma": 3, "Table": 1, "Figure": 9},
    "cpsp": {"Algorithm": 3, "Theorem": 2, "Table": 2, "Figure": 3},
    "streamsvm": {"Algorithm": 2, "Lemma": 1, "Table": 1, "Figure": 4, "Appendix, figure": 12},
    "no-offset": {"Algorithm": 2, "Procedure": 8, "Lemma": 4, "Table": 1, "Figure": 29},
}
ALONE = {"streamsvm": ["Theorem 2", "Fact 1"], "no-offset": ["Proposition 5", "Theorem 6"]}


def kept():
    return {
        item: pages.read(KEPT / item.file) for item in items.ITEMS if (KEPT / item.file).is_file()
    }


@pytest.fixture
def counted():
    """An item that counts its runs."""
    runs = []

    def run(given):
        runs.append(given.quick)
        table, curves = Table("a", ["b"], [[1]]), Curves("c", "x", "y", {"d": ([1.0], [2.0])})
        return Found("seen.", HOLDS, [table], [curves])

    return Item("ocas", "Table 9", "says.", "", (), run), runs


def test_every_paper_has_items_and_every_item_a_paper():
    assert {item.paper for item in items.ITEMS} == set(PAPERS)
    assert len({item.file for item in items.ITEMS}) == len(items.ITEMS)


def test_kept_numbers_belong_to_items_that_exist():
    assert {path.name for path in KEPT.glob("*.json")} <= {item.file for item in items.ITEMS}


def test_pages_are_those_of_the_kept_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "draw", lambda curves, path: None)
    pages.write(tmp_path, kept())
    for page in tmp_path.glob("*.md"):
        written = (PROJECT / "docs" / "papers" / page.name).read_text()
        assert page.read_text() == written, f"{page.name}: run python -m benchmarks.papers"


def test_what_was_measured_is_not_measured_again(tmp_path, counted):
    item, runs = counted
    whole, quick = Given(None, False, 1), Given(None, True, 1)
    first = items.run(item, quick, tmp_path, again=False)
    assert items.run(item, quick, tmp_path, again=False) == first and runs == [True]
    items.run(item, whole, tmp_path, again=False)
    items.run(item, quick, tmp_path, again=False)
    assert runs == [True, False], "a whole run replaces a quick one, never the other way"
    items.run(item, quick, tmp_path, again=True)
    assert len(runs) == 3


def test_curves_are_kept_as_far_as_a_picture_shows_them(tmp_path):
    x = [0.01 * 1.01**k for k in range(2000)]
    y = [5.0 / seconds for seconds in x]
    leap = [*y[:700], 50.0, *y[701:]]
    lines = {"falling": (x, y), "leap": (x, leap), "none": ([], []), "whole": ([1, 2], [3, 4])}
    items.keep(Found("seen.", HOLDS, [], [Curves("", "", "", lines, "xy")]), tmp_path / "a.json")
    kept = items.read(tmp_path / "a.json").curves[0].lines
    drawn, values = kept["falling"]
    assert len(drawn) < 1000 and (drawn[0], drawn[-1]) == pytest.approx((x[0], x[-1]))
    assert np.interp(x, drawn, values) == pytest.approx(y, rel=0.03)
    assert 50.0 in kept["leap"][1]
    assert kept["none"] == [[], []] and kept["whole"] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "wall, others, waited, decided",
    [
        (True, None, None, False),
        (True, 0.5, None, False),
        (True, 0.5, 0.3, False),
        (True, 0.5, 0.02, True),
        (True, 0.02, None, True),
        (False, None, None, True),
    ],
)
def test_seconds_of_the_wall_on_a_busy_machine_decide_nothing(wall, others, waited, decided):
    item = Item("ocas", "Table 9", "says.", "", (), None, wall)
    found = Found("seen 1.", HOLDS, others=others, waited=waited)
    finding = findings.Finding("ocas", "says.", "Table 9")
    expected = HOLDS if decided else items.UNDECIDED
    assert item.verdict(found) == expected
    assert findings.judged(finding, item, found)[0] == expected


def test_a_run_notes_what_other_programs_took(tmp_path, counted):
    item, _ = counted
    found = items.run(item, Given(None, True, 1), tmp_path, again=False)
    assert found.others is None or 0 <= found.others <= 1
    assert "25 %" in pages.beside(dataclasses.replace(found, others=0.25))
    assert "not recorded" in pages.beside(dataclasses.replace(found, others=None))
    assert found.waited is None or 0 <= found.waited <= 1
    assert "one 7 % of its time" in pages.beside(
        dataclasses.replace(found, others=0.5, waited=0.07)
    )


def test_threads_that_ended_count_in_what_a_run_waited():
    if not machine.scheduled():
        pytest.skip("the system does not count")

    def work():
        while str(threading.get_native_id()) not in waiting.last:
            pass

    with machine.Waiting() as waiting:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert set(waiting.last) > set(machine.scheduled())
    assert 0 <= waiting.share <= 1


def test_an_item_without_its_data_is_left_out(tmp_path, counted):
    item, runs = counted
    lacking = dataclasses.replace(item, needs=("covtype",))
    assert items.run(lacking, Given(None, True, 1), tmp_path, again=False) is None and not runs
    assert items.missing_data(lacking, Given(None, True, 1)) == ["covtype.svm"]


def test_every_set_that_an_item_needs_is_described_on_the_page():
    needed = {
        file for item in items.ITEMS for file in items.missing_data(item, Given(None, True, 1))
    }
    assert needed
    for file in needed:
        name = file.removeprefix("small/").removesuffix(".svm")
        assert name in pages.MISSING, file


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_with_a_number_is_listed_once(paper):
    labels = [entry.label for entry in CONTENTS[paper]]
    assert len(set(labels)) == len(labels)
    expected = {f"{kind} {k}" for kind, most in NUMBERED[paper].items() for k in range(1, most + 1)}
    expected |= set(ALONE.get(paper, []))
    sections = {label for label in labels if label.startswith("Section")}
    assert set(labels) - sections == expected


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_listed_is_an_item_or_a_place_in_the_project(paper):
    names = {item.name for item in items.ITEMS if item.paper == paper}
    for entry in CONTENTS[paper]:
        assert (entry.item is None) != (entry.place is None), entry.label
        assert entry.item is None or entry.item in names, entry.label
        assert entry.place is None or (PROJECT / entry.place).is_file(), entry.label


@pytest.mark.parametrize("paper", PAPERS)
def test_every_line_of_every_box_has_a_function_that_exists(paper):
    boxes = {entry.label for entry in CONTENTS[paper] if entry.label.startswith(("Alg", "Proc"))}
    assert [box.label for box in BOXES[paper]] == sorted(boxes)
    for box in BOXES[paper]:
        for line in box.lines:
            text = (PROJECT / line.place).read_text()
            if line.place.endswith(".py"):
                *owner, name = line.name.split(".")
                start = text.index(f"class {owner[0]}") if owner else 0
                assert re.search(rf"\bdef {name}\(", text[start:]), line
            else:
                declared = rf"^ *[A-Za-z][^;=]*\b{re.escape(line.name)}\("
                assert re.search(declared, text, re.MULTILINE), line


def test_the_file_of_a_box_names_it():
    """A reader who holds a paper finds its boxes."""
    for entries in CONTENTS.values():
        for entry in entries:
            if entry.place and entry.label.split(" ")[0] in ("Algorithm", "Procedure"):
                text = (PROJECT / entry.place).read_text().lower()
                assert entry.label.split(" ")[0].lower() in text, (entry.label, entry.place)


def test_every_item_is_in_a_list_or_behind_a_finding():
    listed = {(paper, entry.item) for paper, entries in CONTENTS.items() for entry in entries}
    listed |= {(finding.paper, finding.item) for finding in findings.FINDINGS}
    loose = {(item.paper, item.name) for item in items.ITEMS if item.run} - listed
    assert not loose


@pytest.mark.parametrize("paper", PAPERS)
def test_findings_are_judged_by_the_kept_numbers(paper):
    found = {item.name: result for item, result in kept().items() if item.paper == paper}
    names = {item.name: item for item in items.ITEMS if item.paper == paper}
    here = [finding for finding in findings.FINDINGS if finding.paper == paper]
    assert len(here) >= 8
    for finding in here:
        if names[finding.item].run is None:
            continue
        item = names[finding.item]
        verdict, numbers = findings.judged(finding, item, found.get(finding.item))
        decided = verdict in (HOLDS, items.DIFFERS, items.FAILS)
        assert decided or (verdict == items.UNDECIDED and item.wall), finding.says
        assert any(letter.isdigit() for letter in numbers), finding.says


def test_a_finding_fails_where_the_numbers_say_so():
    table = Table("", ["set", "1D", "7", "16"], [["a", 100, 50, 90], ["b", 100, 40, 130]])
    assert judges_no_offset.all_pairs_beat_one(Found("", HOLDS, [table]))[0] == items.FAILS
    table.rows[1][3] = 105
    assert judges_no_offset.all_pairs_beat_one(Found("", HOLDS, [table]))[0] == items.DIFFERS
    table.rows[1][3] = 95
    assert judges_no_offset.all_pairs_beat_one(Found("", HOLDS, [table]))[0] == HOLDS
    assert items.graded(3, 3) == HOLDS and items.graded(2, 4) == items.DIFFERS
    assert items.graded(1, 3) == items.FAILS


def test_a_size_that_was_not_enough_counts_as_at_least_so_much():
    rows = [["CPSP", "10", 1.0], ["CPSP(tr)", "> 50", 9.0], ["Nystroem", "50", 2.0]]
    rows += [["IncChol", "50", 3.0], ["exact", "700", 4.0]]
    found = Found("", HOLDS, [Table("ADULT, 1000 rows", ["machine", "k", "s"], rows)])
    assert judges.rivals_need_more(found)[0] == HOLDS
    assert "CPSP(tr) over 5" in judges.rivals_need_more(found)[1]
    assert judges.among_the_fastest(found)[0] == judges.trains_faster(found)[0] == HOLDS
    assert "70 times" in judges.predicts_faster(found)[1]
    rows[0][2] = 5.0
    assert judges.trains_faster(found)[0] == judges.among_the_fastest(found)[0] == items.FAILS


def test_what_was_not_reached_was_not_reached_before_a_pass():
    header = ["set", "cached loops", "block minimisation", "selective", "reading once"]
    rows = [["ocr-like", 1.0, "not reached", 3.0, 2.0], ["kddb-like", "not reached", 1.0, 1.0, 2.0]]
    found = Found("", HOLDS, [Table("", header, rows)])
    assert judges.done_before_a_pass(found)[0] == items.DIFFERS
    assert judges.ties_on_kddb(found)[0] == items.FAILS


def test_what_many_threads_do_not_speed_up_is_told_apart():
    header = ["threads", "in all", "products", "line search", "loss", "reduced QP"]
    rows = [[1, 10.0, 8.0, 1.0, 0.5, 0.5], [2, 6.0, 4.2, 1.0, 0.3, 0.5]]
    found = Found("", HOLDS, [Table("", header, rows)])
    assert judges.products_share_out(found)[0] == judges.search_does_not(found)[0] == HOLDS
    assert judges.reduced_problem_is_cheap(found) == (HOLDS, "5 % of the time of one thread")
    rows[1][3] = 0.55
    assert judges.search_does_not(found)[0] == items.DIFFERS
