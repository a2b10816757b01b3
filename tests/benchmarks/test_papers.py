"""The pages about the papers say what the kept numbers say."""

import dataclasses

import pytest
from benchmarks.papers import items, pages
from benchmarks.papers.items import HOLDS, Curves, Found, Given, Item, Table
from benchmarks.papers.papers import PAPERS
from benchmarks.paths import PROJECT, RESULTS

KEPT = RESULTS / "papers"


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


def test_an_item_without_its_data_is_left_out(tmp_path, counted):
    item, runs = counted
    lacking = dataclasses.replace(item, needs=("covtype",))
    assert items.run(lacking, Given(None, True, 1), tmp_path, again=False) is None and not runs
