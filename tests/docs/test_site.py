"""The gallery and the notebooks run; the site that `make docs` built is whole, in a browser too."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "docs" / "html"
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NAMES = ("chromium", "chromium-browser", "google-chrome")
broken_links = runpy.run_path(str(ROOT / "docs" / "check_links.py"))["broken_links"]
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)


def test_there_are_a_dozen_examples_with_pictures():
    assert len(EXAMPLES) >= 12
    for example in EXAMPLES:
        text = example.read_text()
        assert text.startswith('"""\n') and re.search(r"\n={5,}\n", text), example.name
        assert "report." in text or "plt." in text or ".figures()" in text, example.name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_the_gallery_run(example, monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    if "distributed" in example.read_text():
        pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(example))
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_are_kept_without_output(notebook, tmp_path):
    cells = json.loads(notebook.read_text())["cells"]
    assert all(cell.get("outputs", []) == [] for cell in cells)
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="needs nbclient and ipykernel")
    import nbformat

    book = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert any("image/png" in output.get("data", {}) for output in shown)


built = pytest.mark.skipif(not SITE.exists(), reason="needs the site: make docs")


@built
def test_links_of_the_site_lead_somewhere():
    """Inside the site; and nothing is loaded from outside, so that it can be read offline."""
    assert broken_links(SITE) == []


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<link rel="canonical" href="https://x.org/"><h1 id="top">a</h1><a href="#top">1</a>'
        '<a href="b.html#here">2</a><a href="https://x.org/c.html">3</a><a href="c.html">4</a>'
        '<a href="b.html#gone">5</a><img src="https://x.org/p.png"><a href="#gone">6</a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"><img src="data:,"><a href="a.html?q=1">b</a>')
    assert broken_links(tmp_path) == [
        "a.html loads https://x.org/p.png",
        "a.html links to c.html",
        "a.html links to b.html#gone",
        "a.html links to #gone",
    ]


def browse(folder: Path, *options: str) -> str:
    """What Chromium prints, with a profile of its own in a folder."""
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync"
    more = f"--disable-background-networking --disable-component-update {flags}".split()
    command = [BROWSER, *more, f"--user-data-dir={folder / 'profile'}", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300).stdout


in_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium on the PATH")


@built
@in_browser
@pytest.mark.parametrize("page", ["index.html", "gallery/index.html", "api/index.html"])
def test_pages_of_the_site_render_in_both_schemes(page, tmp_path):
    shots = set()
    for scheme in (0, 1):
        shot = tmp_path / f"{scheme}.png"
        browse(
            tmp_path,
            *(f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1000,800"),
            *(f"--screenshot={shot}", (SITE / page).as_uri()),
        )
        shots.add(shot.read_bytes())
    assert len(shots) == 2


@built
@in_browser
def test_the_site_is_searched_without_a_server(tmp_path):
    page = (SITE / "search.html").as_uri() + "?q=certificate"
    shown = browse(tmp_path, "--virtual-time-budget=20000", "--dump-dom", page)
    assert re.search(r'<ul[^>]*class="search".*href="concepts/certificate\.html', shown, re.DOTALL)
