"""python -m benchmarks.papers: every table and figure that can be had, and the pages about them."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from benchmarks.options import cpus
from benchmarks.papers import pages
from benchmarks.papers.items import ITEMS, Given, missing_data, run
from benchmarks.papers.papers import PAPERS
from benchmarks.paths import PROJECT, RESULTS, data_folder


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("paper", nargs="?", choices=[*PAPERS, "all"], default="all")
    p.add_argument("--item", help="only this one, e.g. 'Figure 1'")
    p.add_argument("--quick", action="store_true", help="smaller data: ten minutes in all")
    p.add_argument("--again", action="store_true", help="measure again what has been measured")
    p.add_argument("--data", help="folder of the real data sets (or set MAXMARGIN_DATA)")
    p.add_argument("--kept", type=Path, default=RESULTS / "papers", help="folder for the numbers")
    p.add_argument("--pages", type=Path, default=PROJECT / "docs" / "papers", help="for the pages")
    chosen = p.parse_args()
    given = Given(data_folder(chosen.data), chosen.quick, cpus())
    found = {}
    warnings.simplefilter("ignore", ConvergenceWarning)  # many runs are cut short on purpose
    for item in ITEMS:
        wanted = chosen.paper in ("all", item.paper) and chosen.item in (None, item.name)
        if wanted and item.run is not None and (lacking := missing_data(item, given)):
            where = given.folder or "a folder (--data, or MAXMARGIN_DATA)"
            print(
                f"{item.paper}, {item.name}: needs {', '.join(lacking)} in {where}; "
                "docs/papers/index.md#data says where they are found"
            )
        result = run(item, given, chosen.kept, chosen.again and wanted) if wanted else None
        if wanted and result is not None:
            print(
                f"{item.paper}, {item.name} ({result.seconds:.0f} s): {item.verdict(result)}. "
                f"{result.sentence}",
                flush=True,
            )
    for item in ITEMS:
        path = chosen.kept / item.file
        if path.is_file():
            found[item] = pages.read(path)
    pages.write(chosen.pages, found)


if __name__ == "__main__":
    main()
