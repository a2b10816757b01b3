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
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)
    assert any("image/png" in output.get("data", {}) for output in shown)


built = pytest.mark.skipif(not SITE.exists(), reason="needs the site: make docs")


@built
def test_links_of_the_site_lead_somewhere():
    """Inside the site; and nothing but links leads outside, so that it can be read offline."""
    for page in SITE.rglob("*.html"):
        if "_static" in page.parts:
            continue  # templates of the theme
        text = page.read_text()
        for link in re.findall(r'(?:href|src)="([^"#?]+)[#?"]', text):
            if not re.match(r"[a-z]+:|//", link):
                target = (page.parent / link).resolve()
                assert target.exists(), f"{page.relative_to(SITE)} links to {link}"
        assert not re.findall(
            r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?:', text
        )


@built
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium on the PATH")
@pytest.mark.parametrize("page", ["index.html", "gallery/index.html", "api/index.html"])
def test_pages_of_the_site_render_in_both_schemes(page, tmp_path):
    shots = set()
    for scheme in (0, 1):
        shot = tmp_path / f"{scheme}.png"
        flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync"
        subprocess.run(
            [
                *(BROWSER, *flags.split(), "--disable-background-networking"),
                *("--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}"),
                *(f"--blink-settings=preferredColorScheme={scheme}", "--window-size=1000,800"),
                *(f"--screenshot={shot}", (SITE / page).as_uri()),
            ],
            capture_output=True,
            timeout=90,
        )
        shots.add(shot.read_bytes())
    assert len(shots) == 2
