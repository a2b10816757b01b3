"""Where the benchmarks find and keep things."""

from __future__ import annotations

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "benchmarks"  # caches; `make clean` removes them
PEER_PACKAGES = BUILD / "peers"
RESULTS = PROJECT / "benchmarks" / "results"


def data_folder(given: str | None) -> Path | None:
    """The folder of real data sets: as given, else $MAXMARGIN_DATA, else ../shared/data."""
    named = given or os.environ.get("MAXMARGIN_DATA")
    if named:
        folder = Path(named).expanduser()
        if not folder.is_dir():
            raise SystemExit(f"no folder {named!r} (from --data or MAXMARGIN_DATA)")
        return folder
    beside = PROJECT.parent / "shared" / "data"
    return beside if beside.is_dir() else None
