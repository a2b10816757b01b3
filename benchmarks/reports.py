"""Reports in Markdown whose sections are measured one at a time."""

from __future__ import annotations

from pathlib import Path

from benchmarks import machine
from benchmarks.options import cpus


def table(header: list[str], rows: list[list]) -> str:
    """A table; numbers with three digits, or whole."""
    lines = [header, ["---"] * len(header), *([shown(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown(cell: object) -> str:
    """A number to three digits, or whole; a text whose bars end no cell."""
    if isinstance(cell, float):
        return f"{cell:.0f}" if 1e3 <= abs(cell) < 1e6 else f"{cell:.3g}"
    return str(cell).replace("|", "\\|")


def measured_on(*packages: str) -> str:
    """Where a section was measured, and with which packages."""
    seen = machine.describe(cpus())
    versions = {name: machine.installed(name) for name in ("maxmargin", "numpy", *packages)}
    seen["packages"] = {name: version for name, version in versions.items() if version}
    return f"Measured on: {machine.sentence(seen)}"


def put(path: Path, head: list[str], titles: list[str], measured: dict[str, str]) -> None:
    """Puts the sections measured, by title, into a report in the place of older ones."""
    kept = {}
    if path.is_file():
        for part in path.read_text().split("\n## ")[1:]:
            title, _, text = part.partition("\n")
            kept[title] = text.strip()
    kept |= measured
    parts = [*head, *(f"## {title}\n\n{kept[title]}" for title in titles if title in kept)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n")
