"""Time-to-gap curves: how far above the optimum, after how many seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.measure import Measurement, Trial
from benchmarks.peers import is_ours

FLOOR = 1e-7  # below this the optimum itself is not known


def curves(measurements: list[Measurement], path: Path) -> None:
    """A panel for every set (down) and C (across), both axes logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sets = list(dict.fromkeys(m.name for m in measurements))
    Cs = sorted({m.C for m in measurements})
    names = list(dict.fromkeys(name for m in measurements for name in m.outcomes))
    figure, panels = plt.subplots(
        len(sets), len(Cs), figsize=(4.2 * len(Cs), 3.0 * len(sets) + 1), squeeze=False
    )
    for panel in panels.flat:
        panel.set_visible(False)
    for m in measurements:
        panel = panels[sets.index(m.name)][Cs.index(m.C)]
        panel.set_visible(True)
        draw(panel, m, names)
    handles: dict[str, Any] = {}
    for panel in panels.flat:
        for handle, label in zip(*panel.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    figure.supxlabel("seconds of training", y=0.01)
    figure.supylabel("(P(w) - P*) / P*")
    figure.legend(list(handles.values()), list(handles), loc="upper center", ncol=4, frameon=False)
    figure.tight_layout(rect=(0.02, 0.01, 1, 1 - 0.7 / (3.0 * len(sets) + 1)))
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw(panel, m: Measurement, names: list[str]) -> None:
    colours = [f"C{k}" for k in range(10)]
    for name, outcome in m.outcomes.items():
        points: dict[str, Trial] = {}
        for trial in outcome.trials:  # the quickest of repeated runs of a setting
            key = str(trial.setting)
            if key not in points or trial.seconds < points[key].seconds:
                points[key] = trial
        front = pareto(
            [(t.seconds, max(m.reference.excess(t.primal), FLOOR)) for t in points.values()]
        )
        if not front:
            continue
        main = name == "maxmargin"
        panel.plot(
            *zip(*front),
            color="black" if main else colours[names.index(name) % 10],
            linewidth=2.2 if main else 1.1,
            linestyle="--" if is_ours(name) and not main else "-",
            marker=".",
            markersize=5,
            label=name,
        )
    panel.axhline(m.plan.tol, color="grey", linewidth=0.8, linestyle=":")
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_ylim(FLOOR, 2.0)
    panel.set_title(f"{m.name}, C = {m.C:g}", fontsize=10)


def pareto(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Of (seconds, excess) those that nothing quicker beats: what could be had by then."""
    front: list[tuple[float, float]] = []
    for seconds, excess in sorted(points):
        if not front or excess < front[-1][1]:
            front.append((seconds, excess))
    return front
