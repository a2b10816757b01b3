"""A terminal recording of `maxmargin train` on a CSV file of one gigabyte, as an SVG that plays.

    python -m benchmarks.recording docs/pictures/train.svg

The file is made from a seed, the command runs in a terminal of its own (a pty), and what it writes
is kept with the time at which it came. The picture needs no script: lines appear and vanish by
SMIL; where nothing moves it shows the last screen.
"""

from __future__ import annotations

import argparse
import codecs
import fcntl
import html
import os
import pty
import re
import shutil
import struct
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

COLUMNS, ROWS = 104, 24
MOST_FRAMES = 60
LONGEST_PLAY, HOLD = 15.0, 6.0  # seconds, and those that the last screen stays
CELL, LINE = 7.83, 18.0  # pixels of a character at 13 px
NAME, COMMAND = "customers.csv", "maxmargin train customers.csv --target churned"


def make_csv(path: Path, size: int, seed: int = 0) -> None:
    """Customers: 12 numbers, some of them missing, a plan, a region, a date; who churned."""
    rng, n, width = np.random.default_rng(seed), 50_000, 12
    weights = rng.normal(size=width) * (rng.random(width) < 0.5)
    plans, regions = (
        np.array(["basic", "plus", "pro"]),
        np.array([f"region {k}" for k in range(12)]),
    )
    with path.open("wb") as file:
        while file.tell() < size:
            X = rng.normal(size=(n, width)).round(3)
            plan, missing = rng.integers(3, size=n), rng.random(n) < 0.02
            score = X @ weights + 1.5 * (plan == 0) + rng.normal(size=n)
            columns = {f"usage_{j}": pa.array(X[:, j], mask=missing if j == 7 else None)
                       for j in range(width)}  # fmt: skip
            columns["plan"] = pa.array(plans[plan])
            columns["region"] = pa.array(regions[rng.integers(12, size=n)])
            days = np.datetime64("2015-01-01") + rng.integers(3000, size=n)
            columns["since"] = pa.array(days.astype("datetime64[D]"))
            columns["churned"] = pa.array(np.where(score > 0.5, "yes", "no"))
            header = pa.csv.WriteOptions(include_header=file.tell() == 0, quoting_style="none")
            pa.csv.write_csv(pa.table(columns), file, header)


def record(folder: Path) -> list[tuple[float, str]]:
    """What the command writes to a terminal, and when."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", *COMMAND.split()])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    start, events, decoder = time.monotonic(), [], codecs.getincrementaldecoder("utf-8")()
    while True:
        try:
            written = os.read(terminal, 1 << 16)
        except OSError:  # how a pty says that its other end is closed
            break
        if not written:
            break
        events.append((time.monotonic() - start, decoder.decode(written)))
    _, status = os.waitpid(process, 0)
    if status:
        raise SystemExit("".join(text for _, text in events))
    return events


class Screen:
    """As much of a terminal as the command needs: lines, returns, and lines that are erased."""

    def __init__(self, first: str) -> None:
        self.lines, self.column = [first, ""], 0

    def write(self, text: str) -> None:
        for part in re.findall(r"\x1b\[[\d;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
            if part == "\n":
                self.lines.append("")
                self.column = 0
            elif part == "\r":
                self.column = 0
            elif part.startswith("\x1b"):
                if part.endswith("K"):
                    self.lines[-1] = self.lines[-1][: self.column]
            else:
                self._put(part)

    def _put(self, text: str) -> None:
        """Text where the cursor is; what is too long goes on in the next line."""
        while text:
            room = COLUMNS - self.column
            line, now, text = self.lines[-1], text[:room], text[room:]
            self.lines[-1] = (
                line[: self.column].ljust(self.column) + now + line[self.column + len(now) :]
            )
            self.column += len(now)
            if text:
                self.lines.append("")
                self.column = 0


@dataclass
class Run:
    """A line of the screen while it does not change."""

    row: int
    text: str
    begin: float
    end: float | None = None


def runs_of(events: list[tuple[float, str]]) -> list[Run]:
    """Lines with their times; of a line that is rewritten ever again some states are left out."""
    screen, between = Screen("$ " + COMMAND), events[-1][0] / MOST_FRAMES
    shown: dict[int, Run] = {0: Run(0, screen.lines[0], 0.0)}
    runs, last = [shown[0]], -between
    for k, (now, text) in enumerate(events):
        count = len(screen.lines)
        screen.write(text)
        if len(screen.lines) == count and now - last < between and k < len(events) - 1:
            continue
        last = now
        for row, line in enumerate(screen.lines):
            before = shown.get(row)
            if (before.text if before else "") != line:
                if before is not None:
                    before.end = now
                shown[row] = Run(row, line, now)
                runs.append(shown[row])
    return [run for run in runs if run.text.strip()]


def drawn(runs: list[Run], seconds: float, about: str) -> str:
    """The picture."""
    play = min(seconds, LONGEST_PLAY)
    total, factor = play + HOLD, play / seconds
    rows = max(run.row for run in runs) + 1
    width, height = COLUMNS * CELL + 32, rows * LINE + 58
    speed = "" if factor == 1 else f", played {1 / factor:.1f} times as fast"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{html.escape(about)}</title>",
        "<style>text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',"
        "monospace;white-space:pre;fill:#d6deeb}.dim{fill:#8b98a9}</style>",
        '<rect width="100%" height="100%" rx="8" fill="#101720"/>',
        *(
            f'<circle cx="{x}" cy="18" r="5" fill="{colour}"/>'
            for x, colour in ((20, "#e5726a"), (38, "#e8bf5b"), (56, "#68b26d"))
        ),
        f'<text class="dim" x="76" y="22">{html.escape(about + speed)}</text>',
    ]
    for run in runs:
        parts.append(_line(run, factor, total))
    return "\n".join([*parts, "</svg>\n"])


def _line(run: Run, factor: float, total: float) -> str:
    """A line that is there while its run lasts, and at the end if it stays."""
    y, text = 50 + run.row * LINE, html.escape(run.text)
    begin = run.begin * factor / total
    end = None if run.end is None else run.end * factor / total
    values, times = (
        ("0;1", f"0;{begin:.4f}") if end is None else ("0;1;0", f"0;{begin:.4f};{end:.4f}")
    )
    moves = "" if run.begin == 0 and end is None else (
        f'<animate attributeName="opacity" calcMode="discrete" values="{values}" '
        f'keyTimes="{times}" dur="{total:.1f}s" repeatCount="indefinite"/>'
    )  # fmt: skip
    hidden = "" if end is None else ' opacity="0"'
    return f'<text x="16" y="{y:.0f}"{hidden}>{text}{moves}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        make_csv(folder / NAME, given.megabytes * 10**6)
        events = record(folder)
    finally:
        shutil.rmtree(folder)
    about = f"{given.megabytes / 1000:.3g} GB of CSV, {len(os.sched_getaffinity(0))} CPUs"
    given.out.write_text(drawn(runs_of(events), events[-1][0], about), encoding="utf-8")


if __name__ == "__main__":
    main()
