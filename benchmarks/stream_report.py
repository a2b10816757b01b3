"""The report of data larger than memory, section by section: results/stream.md."""

from __future__ import annotations

from pathlib import Path

from benchmarks.reports import measured_on, put, table

RACE = "Seconds to 0.1 % above the optimum"
MEMORY = "The effect of memory"
LARGE = "A file many times the memory"
STRINGS = "Splice sites, weighted degree features"


def write(folder: Path, measured: dict[str, str]) -> None:
    """Puts the sections measured, by title, in the place of older ones."""
    head = [
        "# Data larger than memory",
        "`python -m benchmarks.stream` and `python -m benchmarks.sequences`; what is measured and "
        "how is said at the head of those files.",
    ]
    here = measured_on("scipy", "scikit-learn", "pyarrow", "vowpalwabbit")
    told = {title: f"{text}\n\n{here}" for title, text in measured.items()}
    put(folder / "stream.md", head, [RACE, MEMORY, LARGE, STRINGS], told)


def race(results: list[dict]) -> str:
    methods = list(results[0]["runs"])
    rows = []
    for result in results:
        cells = []
        for method in methods:
            run = result["runs"].get(method, {"seconds": None, "curve": []})
            least = min((gap for _, gap in run["curve"]), default=float("nan"))
            reached = run["seconds"]
            cells.append(f"not reached ({least:.1e})" if reached is None else float(reached))
        share = f"{result['memory'] / 1e6:.1f} of {result['file'] / 1e6:.1f} MB"
        rows.append([result["set"], f"{result['C']:g}", share, *cells])
    return (
        "From a cold file, by the w of any moment, scored outside the clock.\n\n"
        + table(["set", "C", "memory", *methods], rows)
        + "\n\n![objective and gap against time](stream.png)"
    )


def memory(results: list[dict]) -> str:
    rows = []
    for result in results:
        for share, run in result["runs"].items():
            proof = run["certificate"]
            gap = f"{1 - proof['dual'] / proof['primal']:.1e}"
            cells = [f"{float(share):.0%}", run["cached"], f"{proof['primal']:.8g}", gap]
            exact = f"{proof['primal'] / result['optimum'] - 1:+.1e}"
            rows.append([result["set"], f"{result['C']:g}", *cells, exact, proof["seconds"]])
    header = ["set", "C", "room for rows", "rows cached at the end", "objective", "relative gap"]
    return table([*header, "above the optimum in memory", "seconds"], rows)


def large(facts: dict) -> str:
    rows = [
        ["rows", f"{facts['rows']:,}"],
        ["bytes of the file", f"{facts['file']:,}"],
        ["memory=", facts["memory"]],
        ["bytes of a", f"{facts['alpha']:,}"],
        ["bytes of the process at its peak", f"{facts['peak']:,}"],
        ["peak less memory and a", f"{facts['beyond']:,}"],
        ["relative gap", f"{1 - facts['dual'] / facts['primal']:.1e}"],
        ["seconds", f"{facts['seconds']:.1f}"],
    ]
    return table(["covtype again and again, `maxmargin train --kind stream`", ""], rows)


def strings(facts: list[dict]) -> str:
    by = {"stream": "cached loops (`--kind stream`)", "ocas": "OCAS (`--solver ocas`)"}
    columns = [strings_of(one) for one in facts]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    header = ["C. elegans, 100000 strings of 398", *(by[one["by"]] for one in facts)]
    return table(header, rows)


def strings_of(facts: dict) -> dict[str, str]:
    proof, streams = facts["certificate"], facts["by"] == "stream"
    return {
        "degree, C": f"{facts['degree']}, {facts['C']:g}",
        "memory=": facts["memory"] if streams else "",
        "features": f"{facts['dimensions']:,}",
        "objective": f"{proof['primal']:.8g}",
        "relative gap": f"{1 - proof['dual'] / proof['primal']:.1e} ({proof['status']})",
        "seconds of the fit": f"{facts['seconds']:.1f}",
        "strings scored a second": f"{facts['strings_per_second_scored']:,.0f}",
        "bytes of the process at its peak": f"{facts['peak_bytes_training']:,}",
        "ROC area of the second file": f"{facts['roc_area']:.4f}",
        "average precision there": f"{facts['average_precision']:.4f}",
    }
