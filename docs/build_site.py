"""Build the documentation site: pages of this folder, of the project and of the benchmarks, the
gallery and the API, as HTML in build/docs/html.

    python docs/build_site.py
    python docs/build_site.py --linkcheck   # asks the network for the pages we link to, instead

Pages stay readable where they are, on a code host; here they are copied to one folder, and links
between them follow. Links to files that are no pages become plain text. Warnings are errors, and
so are links inside the site that lead nowhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from check_links import broken_links

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"
SOURCE = BUILD / "source"
LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)"
)
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
PROJECT = ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY", "ROADMAP")


def pages() -> dict[Path, Path]:
    """Where each page goes."""
    found = {page: Path(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    del found[DOCS / "index.md"]  # the site has a start page of its own
    for name in PROJECT:
        if (ROOT / f"{name}.md").exists():
            found[ROOT / f"{name}.md"] = Path("project", f"{name.lower()}.md")
    found[ROOT / "benchmarks" / "README.md"] = Path("benchmarks", "about.md")
    for page in (ROOT / "benchmarks" / "results").glob("*.md"):
        found[page] = Path("benchmarks", page.name)
    return found


def moved(text: str, page: Path, places: dict[Path, Path]) -> str:
    """The text of a page with its links as they are on the site."""
    here = places[page].parent

    def target(found: re.Match) -> str:
        picture, words, link, anchor = found.groups()
        real = (page.parent / link).resolve()
        if real == DOCS / "index.md":
            return f"[{words}]({os.path.relpath('index.rst', here)})"
        if real in places:
            return f"{picture}[{words}]({os.path.relpath(places[real], here)}{anchor or ''})"
        if picture and real.is_file():
            copy = Path("pictures", real.name)
            (SOURCE / copy).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(real, SOURCE / copy)
            return f"![{words}]({os.path.relpath(copy, here)})"
        return words

    parts = FENCE.split(text)  # code stays as it is
    return "".join(part if part.startswith("```") else LINK.sub(target, part) for part in parts)


def stage() -> None:
    """All sources of the site in one folder."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(DOCS / "site", SOURCE)
    shutil.copytree(ROOT / "examples", BUILD / "examples", dirs_exist_ok=True)
    places = pages()
    for page, place in places.items():
        (SOURCE / place).parent.mkdir(parents=True, exist_ok=True)
        (SOURCE / place).write_text(moved(page.read_text(), page, places))
    stage_api()
    list_others(places)


def list_others(places: dict[Path, Path]) -> None:
    """Pages at the top that no list of the site names come last in the guide."""
    listed = "".join((SOURCE / f"{name}.rst").read_text() for name in ("index", "start", "guide"))
    names = sorted(place.stem for place in places.values() if place.parent == Path())
    guide = (SOURCE / "guide.rst").read_text().rstrip("\n") + "\n"
    others = [f"   {name}\n" for name in names if f"   {name}\n" not in listed]
    (SOURCE / "guide.rst").write_text(guide + "".join(others))


def stage_api() -> None:
    """A table of the public names, each with a page made of its docstring."""
    import maxmargin
    from maxmargin import data, distributed, metrics, report

    estimators = [name for name in maxmargin.__all__ if name[0].isupper()]
    parts = [
        ("Estimators", "maxmargin", [*estimators, "load"]),
        ("Data", "maxmargin.data", list(data.__all__)),
        ("Rankings", "maxmargin.metrics", list(metrics.__all__)),
        ("Reports", "maxmargin.report", list(report.__all__)),
        ("On a cluster", "maxmargin.distributed", list(distributed.__all__)),
        ("Certificates", "maxmargin.problem", ["Certificate", "Progress", "Status"]),
    ]
    text = "API\n===\n\nMade from the docstrings of this version. "
    text += "The commands are in the :doc:`reference </reference>`.\n"
    for title, module, names in parts:
        text += f"\n{title}\n{'-' * len(title)}\n\n.. currentmodule:: {module}\n\n"
        text += ".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n"
        text += "".join(f"   {name}\n" for name in names)
    (SOURCE / "api").mkdir(exist_ok=True)
    (SOURCE / "api" / "index.rst").write_text(text)


def sphinx(builder: str, *options: str) -> int:
    command = [sys.executable, "-m", "sphinx", "-b", builder, "--keep-going", "-q", *options]
    return subprocess.run([*command, str(SOURCE), str(BUILD / builder)]).returncode


def build() -> int:
    """The site, every link of it followed; 0 if nothing is wrong with it."""
    if sphinx("html", "-W"):
        return 1
    broken = broken_links(BUILD / "html")
    print(*broken, sep="\n", end="\n" if broken else "", file=sys.stderr)
    if not broken:
        print(f"the site is in {BUILD / 'html' / 'index.html'}")
    return int(bool(broken))


if __name__ == "__main__":
    stage()
    outside = "--linkcheck" in sys.argv
    sys.exit(sphinx("linkcheck", "-D", "plot_gallery=0") if outside else build())
