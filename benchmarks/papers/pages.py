"""Pages about the papers: what they say, what is found here, and why the two differ."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.papers.items import ITEMS, Curves, Found, Item, Table, read
from benchmarks.papers.papers import PAPERS, Paper
from benchmarks.reports import table

__all__ = ["read", "write"]

MISSING = """## Data

Files are looked for in `--data`, `$MAXMARGIN_DATA` or `../shared/data`, plain or compressed. a9a, ijcnn1, covtype (scaled), news20 and the small sets are the files of the LIBSVM page; MNIST's are the four
idx files; imdb is the review data set of Maas et al. as tf-idf rows of unit length in svmlight form. CCAT (RCV1), astro-ph, the splice sets of worm and human, kddb, webspam and the ocr and dna sets of the
2008 large scale challenge are not there: a set beside them stands for each where its kind is the point, and the item says which.
"""


def write(folder: Path, found: dict[Item, Found]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(overview(found))
    for name, paper in PAPERS.items():
        items = [item for item in ITEMS if item.paper == name]
        (folder / f"{name}.md").write_text(page(folder, name, paper, items, found))


def overview(found: dict[Item, Found]) -> str:
    rows = []
    for item in ITEMS:
        result = found.get(item)
        state = (
            "not possible here"
            if item.run is None
            else "not run"
            if result is None
            else result.verdict
        )
        link = f"[{item.paper}]({item.paper}.md#{anchor(item.name)})"
        rows.append([link, item.name, item.says, state])
    head = (
        "# The five papers again\n\n`make reproduce` (or `python -m benchmarks.papers NAME --quick`) measures every table and figure "
        "that can be had on one machine and writes these pages. A verdict is computed from the numbers.\n\n"
    )
    listing = table(["paper", "item", "the paper says", "here"], rows)
    machines = " ".join(sorted({result.machine for result in found.values()}))
    return f"{head}\n{listing}\n\nMeasured on: {machines}\n\n{MISSING}"


def page(folder: Path, name: str, paper: Paper, items: list[Item], found: dict[Item, Found]) -> str:
    symbols = table(["the paper", "here", ""], [list(row) for row in paper.symbols])
    parts = [
        f"# {paper.title}",
        f"The algorithm's box, line by line beside the code: the head of `{paper.box}`. All items: [overview](index.md).",
        f"## Symbols\n\n{symbols}",
        *(section(folder, name, item, found.get(item)) for item in items),
    ]
    return "\n\n".join(parts) + "\n"


def section(folder: Path, name: str, item: Item, found: Found | None) -> str:
    parts = [f"## {item.name}", f"**The paper says:** {item.says}"]
    if item.run is None:
        return "\n\n".join([*parts, f"**Not possible here:** {item.differs}"])
    if found is None:
        return "\n\n".join([*parts, "**Not run yet.**"])
    extent = "a quick run, smaller data" if found.quick else "a whole run"
    parts.append(
        f"**We find:** {found.sentence} *{found.verdict}* ({extent}, {found.seconds:.0f} s)"
    )
    if item.differs:
        parts.append(f"**Why it may differ:** {item.differs}")
    for one in found.tables:
        parts.append(f"{one.caption}\n\n{shown(one)}")
    for number, curves in enumerate(found.curves):
        picture = f"{name}-{anchor(item.name)}-{number}.png"
        draw(curves, folder / picture)
        parts.append(f"![{curves.title}]({picture})")
    return "\n\n".join(parts)


def shown(one: Table) -> str:
    return table(one.header, one.rows)


def anchor(text: str) -> str:
    """The name of a heading in a link, as GitHub and MyST make it."""
    return re.sub(r"[^a-z0-9 -]", "", text.lower()).replace(" ", "-")


def draw(curves: Curves, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.6))
    for label, (x, y) in curves.lines.items():
        axes.plot(x, y, marker="o", markersize=3, label=label)
    if "x" in curves.log:
        axes.set_xscale("log")
    if "y" in curves.log:
        axes.set_yscale("log")
    axes.set_xlabel(curves.x)
    axes.set_ylabel(curves.y)
    axes.set_title(curves.title, fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)
