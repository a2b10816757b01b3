"""python -m benchmarks.scaling: iterations and seconds of OCAS against the number of rows.

Two series. With ``n C`` fixed (the constant of the OCAS paper, whose bound on the iterations does
not know n) and with C fixed, where every row added also makes the loss weigh more.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks import bundle, machine, options, reports

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000_000)  # the last: all rows


def main() -> None:
    p = options.parser(__doc__ or "")
    p.add_argument("--set", default="covtype", help="data set")
    p.add_argument(
        "--C", type=float, default=1.0, help="C of the whole set, and of the second series"
    )
    p.add_argument("--tol", type=float, default=1e-3, help="relative duality gap")
    p.add_argument("--repeats", type=int, default=3, help="runs of each; the best counts")
    given = p.parse_args()
    n_all = options.load(given.set, given)[0].shape[0]
    sizes = sorted({min(n, n_all) for n in SIZES})
    series = {
        "n C fixed": [measure(given, n, given.C * n_all / n) for n in sizes],
        "C fixed": [measure(given, n, given.C) for n in sizes],
    }
    here = machine.describe(given.threads)
    kept = {"machine": here, "set": given.set, "C": given.C, "tol": given.tol, "series": series}
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "scaling.json").write_text(json.dumps(kept, indent=1))
    options.write(given, "scaling.md", report(given, here, series))
    draw(series, given, given.out / "scaling.png")


def measure(given, n: int, C: float) -> dict[str, float]:
    X, y = options.load(given.set, given, rows=n)
    runs = [
        bundle.solve(X, y, C, tol=given.tol, threads=given.threads).certificate
        for _ in range(given.repeats)
    ]
    best = min(runs, key=lambda certificate: certificate.seconds)
    print(f"  n = {n}, C = {C:.4g}: {best}")
    return {"n": n, "C": C, "iterations": best.n_iter, "seconds": best.seconds}


def slope(points: list[dict[str, float]]) -> float:
    """Exponent of n in the seconds, over the sizes where a run is not mostly overhead."""
    large = [p for p in points if p["n"] >= 10_000] or points
    if len(large) < 2:
        return float("nan")
    n, seconds = ([p[key] for p in large] for key in ("n", "seconds"))
    return float(np.polyfit(np.log(n), np.log(seconds), 1)[0])


def report(given, here: dict, series: dict[str, list[dict[str, float]]]) -> str:
    header = ["rows", *(f"{what}, {name}" for name in series for what in ("iterations", "seconds"))]
    rows = []
    for points in zip(*series.values()):
        cells = [cell for p in points for cell in (f"{p['iterations']:g}", f"{p['seconds']:.3g}")]
        rows.append([f"{points[0]['n']:g}", *cells])
    slopes = "; ".join(
        f"{name}: seconds grow as n^{slope(points):.2f}" for name, points in series.items()
    )
    parts = [
        "# OCAS against the number of rows",
        f"{given.set}, C = {given.C:g}, relative gap {given.tol:g}, best of {given.repeats}. "
        + machine.sentence(here),
        reports.table(header, rows),
        f"From 10000 rows on: {slopes}.",
        "![Scaling](scaling.png)",
    ]
    return "\n\n".join(parts) + "\n"


def draw(series: dict[str, list[dict[str, float]]], given, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6))
    for panel, what in zip(panels, ("iterations", "seconds")):
        for name, points in series.items():
            n, values = ([p[key] for p in points] for key in ("n", what))
            panel.plot(n, values, marker="o", markersize=4, label=name)
        panel.set_xscale("log")
        panel.set_xlabel("rows")
        panel.set_title(f"OCAS on {given.set}: {what}", fontsize=10)
    last = next(iter(series.values()))[-1]
    sizes = np.array([p["n"] for p in next(iter(series.values()))])
    panels[1].plot(
        sizes, last["seconds"] * sizes / last["n"], ":", color="grey", label="proportional to n"
    )
    panels[1].set_yscale("log")
    panels[0].set_ylim(bottom=0)
    for panel in panels:
        panel.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
