"""Pages about the papers: what they say, what is found here, and why the two differ."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.papers.boxes import BOXES
from benchmarks.papers.contents import CONTENTS, Entry
from benchmarks.papers.findings import FINDINGS, judged
from benchmarks.papers.items import ITEMS, QUIET, Curves, Found, Item, Table, read
from benchmarks.papers.papers import PAPERS, Paper
from benchmarks.reports import table

__all__ = ["read", "write"]

SWITCHES = """## What can be switched

What the papers do otherwise is there for comparisons, below the estimators: no estimator has these options, tests in `tests/papers` (of neighbours and working sets in `tests/solvers`) hold each to its word, and the item named last compares.

| the paper's | here | compared in |
| --- | --- | --- |
| mu of (8) | `bundle.solve(..., variant=Variant(mu=0.1))` | [OCAS](ocas.md#changes-2-and-3) |
| planes at w_c always, reduced problem solved to the end | `Variant(at_best=False, qp_share=1e-12)` | [OCAS](ocas.md#changes-2-and-3) |
| absolute epsilon, (9) of OCAS | `Variant(stopping="absolute")` | `tests/papers/test_switches.py` |
| Joachims' epsilon, a mean slack | `Variant(stopping="mean slack")` | [SVM-perf](svm-perf.md#figures-4-to-7) |
| a line search that sorts | `benchmarks.papers.sorting.SortingHinge` | [OCAS](ocas.md#changes-2-and-3) |
| CPA inside CPSP | `subspace_pursuit.solve(..., pursuit=Pursuit(steps="cpa"))` | [CPSP](cpsp.md#algorithm-3-as-printed) |
| residual of the newest plane | `Pursuit(residual="newest")` | [CPSP](cpsp.md#algorithm-3-as-printed) |
| vectors until planes are within delta | `Pursuit(delta=...)` | [CPSP](cpsp.md#algorithm-3-as-printed) |
| StreamSVM's eviction | `StreamPlan(..., rules=Rules(paper_eviction=True))` | [StreamSVM](streamsvm.md#eviction-and-stopping) |
| StreamSVM's stopping rule M+ - M- | `Rules(spread=...)` | [StreamSVM](streamsvm.md#eviction-and-stopping) |
| rules (7) and (9) of the no-offset paper | `KernelSVC(stopping="plain")`, `"clipped"` | [no offset](no-offset.md#figure-20) |
| working sets, neighbours, starts | `path.Method` | [no offset](no-offset.md#figures-2-to-4-8-11-and-14) |

"""

MISSING = """## Data

Files are looked for in `--data`, `$MAXMARGIN_DATA` or `../shared/data`, plain or packed (`.xz`, `.bz2`, `.gz`). An item whose files are not there is left out, and says which it needs. What is drawn needs no files.

| set | rows x features | text, MB | where it is found | file |
| --- | --- | --- | --- | --- |
| a9a | 32 561 x 123 | 2 | LIBSVM page, a9a | `a9a.svm` |
| ijcnn1 | 49 990 x 22 | 8 | LIBSVM page, ijcnn1 (train) | `ijcnn1.svm` |
| covtype | 581 012 x 54 | 71 | LIBSVM page, covtype.binary scaled to [0, 1] | `covtype.svm` |
| imdb | 25 000 x 59 775 | 51 | Large Movie Review Dataset (Maas et al. 2011): tf-idf of words, rows of unit length | `imdb.svm` |
| MNIST | 60 000 x 784 | 45 | MNIST's training images and labels (LeCun et al.) | `mnist.train-images-idx3-ubyte`, `mnist.train-labels-idx1-ubyte` |
| small sets | 200 to 8 124 rows | 10 in all | LIBSVM page: sonar, heart, ionosphere, australian, diabetes, fourclass, german.numer, svmguide1 (and .t), svmguide3 and splice (training and test rows joined), a1a and a2a (and .t), w1a; UCI: liver, breast | `small/NAME.svm` |

Not here, and what stands for them:

| set of the papers | size | where it would be found | here |
| --- | --- | --- | --- |
| Reuters CCAT and C11 (RCV1) | 804 414 documents x 47 236 | RCV1-v2 (LYRL2004); LIBSVM page, rcv1.binary: 697 641 of them, with other classes | imdb |
| arXiv astro-ph | 62 369 x 99 757 | the author of SVM-perf | imdb |
| KDD04 physics | 150 000 x 78 | KDD Cup 2004 | covtype |
| worm and human splice sites | 1 to 15 million strings of 141 letters, up to 32 GB expanded | the authors of OCAS | drawn strings |
| ocr, dna | 3.5 million x 1156, 45 GB; 50 million x 800, 63 GB | Pascal large scale learning challenge 2008 | drawn, 100 000 rows |
| webspam (trigrams), kddb | 0.35 million x 16.6 million, 20 GB; 20 million x 29.9 million, 4.8 GB | LIBSVM page | drawn, 100 000 rows |
| a3a, a4a, w2a, w3a | 3 185 to 4 912 training rows | LIBSVM page | a1a, a2a, w1a |

The LIBSVM page is <https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/>. Drawn sets are written to `build/benchmarks/papers` and kept there: 2 GB for a whole run.
"""


def write(folder: Path, found: dict[Item, Found]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.md").write_text(overview(found))
    for name, paper in PAPERS.items():
        items = [item for item in ITEMS if item.paper == name]
        (folder / f"{name}.md").write_text(page(folder, name, paper, items, found))


def overview(found: dict[Item, Found]) -> str:
    rows, order = [], list(PAPERS)
    for item in sorted(ITEMS, key=lambda item: order.index(item.paper)):
        result = found.get(item)
        state = (
            "not possible here"
            if item.run is None
            else "not run"
            if result is None
            else item.verdict(result)
        )
        link = f"[{item.paper}]({item.paper}.md#{anchor(item.name)})"
        rows.append([link, item.name, item.says, state])
    head = (
        "# The five papers again\n\n`make reproduce` (or `python -m benchmarks.papers NAME --quick`) measures every table and figure "
        "that can be had on one machine and writes these pages; what was measured before is not measured again. A verdict is computed from the numbers. Seconds are CPU seconds "
        "of one thread unless an item says otherwise. Items that compare seconds of the wall clock are decided only by a run "
        f"during which other programs took at most {100 * QUIET:.0f} % of the CPUs, or which, having priority, waited for a CPU at most {100 * QUIET:.0f} % of its time; "
        "every item says so, if that was recorded.\n\n"
    )
    listing = table(["paper", "item", "the paper says", "here"], rows)
    machines = " ".join(sorted({result.machine for result in found.values()}))
    return (
        f"{head}\n{counted(found)}\n\n{listing}\n\nMeasured on: {machines}\n\n{SWITCHES}{MISSING}"
    )


def counted(found: dict[Item, Found]) -> str:
    """How many of the papers' findings hold, and how much was measured on whole data."""
    items = {(item.paper, item.name): item for item in ITEMS}
    verdicts = []
    for finding in FINDINGS:
        item = items[finding.paper, finding.item]
        absent = item.run is None
        verdicts.append(
            "not possible here" if absent else judged(finding, item, found.get(item))[0]
        )
    parts = [f"{verdict} {verdicts.count(verdict)}" for verdict in dict.fromkeys(verdicts)]
    quick = sum(result.quick for result in found.values())
    return (
        f"{len(verdicts)} findings: {'; '.join(parts)}. Each is on its paper's page with its numbers, "
        f"beside a list of all tables, figures, boxes and theorems. {quick} of {len(found)} items were "
        "measured in a quick run, on smaller data; their pages say so."
    )


def page(folder: Path, name: str, paper: Paper, items: list[Item], found: dict[Item, Found]) -> str:
    symbols = table(["the paper", "here", ""], [list(row) for row in paper.symbols])
    parts = [
        f"# {paper.title}",
        f"Where our loop departs from the paper's: the head of [`{paper.box}`](../../{paper.box}). All items: [overview](index.md).",
        f"## Symbols\n\n{symbols}",
        f"## Boxes, line by line\n\n{boxes(name)}",
        f"## What is in the paper\n\n{contents(name, items, found)}",
        f"## What it finds\n\n{findings(name, items, found)}",
        *(section(folder, name, item, found.get(item)) for item in items),
    ]
    return "\n\n".join(parts) + "\n"


def boxes(name: str) -> str:
    """Which function does what a line of an algorithm box says."""
    rows = [
        [box.label if k == 0 else "", line.says, f"`{line.name}`", link(line.place)]
        for box in BOXES[name]
        for k, line in enumerate(box.lines)
    ]
    return table(["box", "the paper's line", "here", "in"], rows)


def link(place: str) -> str:
    return f"[`{place.rsplit('/', 1)[-1]}`](../../{place})"


def contents(name: str, items: list[Item], found: dict[Item, Found]) -> str:
    """Everything with a number, and where it is."""
    by_name = {item.name: item for item in items}
    rows = [[e.label, e.what, place_of(e, by_name, found)] for e in CONTENTS[name]]
    return table(["in the paper", "what", "here"], rows)


def place_of(entry: Entry, items: dict[str, Item], found: dict[Item, Found]) -> str:
    if entry.item is None:
        return f"in [`{entry.place}`](../../{entry.place})"
    link, item = f"[{entry.item}](#{anchor(entry.item)})", items[entry.item]
    if item.run is None:
        return f"not possible here: {link}"
    if item not in found:
        return f"not run yet: {link}"
    return f"reproduced{' (quick run)' if found[item].quick else ''}: {link}"


def findings(name: str, items: list[Item], found: dict[Item, Found]) -> str:
    """A sentence each, and whether the numbers bear it out."""
    by_name, rows = {item.name: item for item in items}, []
    for finding in FINDINGS:
        if finding.paper != name:
            continue
        item = by_name[finding.item]
        verdict, numbers = judged(finding, item, found.get(item))
        if item.run is None:
            verdict, numbers = "not possible here", item.differs
        rows.append([finding.says, verdict, numbers, f"[{item.name}](#{anchor(item.name)})"])
    return table(["the paper says", "here", "numbers", "item"], rows)


def section(folder: Path, name: str, item: Item, found: Found | None) -> str:
    parts = [f"## {item.name}", f"**The paper says:** {item.says}"]
    if item.run is None:
        return "\n\n".join([*parts, f"**Not possible here:** {item.differs}"])
    if found is None:
        return "\n\n".join([*parts, "**Not run yet.**"])
    extent = "a quick run, smaller data" if found.quick else "a whole run"
    parts.append(
        f"**We find:** {found.sentence} *{item.verdict(found)}* ({extent}, {found.seconds:.0f} s, {beside(found)})"
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


def beside(found: Found) -> str:
    """How much of the machine other programs had meanwhile."""
    if found.others is None:
        return "not recorded how busy the machine was"
    took = f"other programs took {100 * found.others:.0f} % of the CPUs"
    if found.waited is None:
        return took
    return f"{took}, it waited for one {100 * found.waited:.0f} % of its time"


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
    axes.legend(framealpha=0.8, edgecolor="none", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    plt.close(figure)
