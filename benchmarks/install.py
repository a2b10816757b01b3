"""python -m benchmarks.install: the competitors, each where it does not disturb the others."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.machine import installed
from benchmarks.paths import PEER_PACKAGES

# Tried in order until one installs. dlib has no wheels and takes ten minutes to build; dlib-bin is
# the same code ready built.
ORDINARY = [["liblinear-official"], ["snapml"], ["dlib-bin", "dlib"], ["rehline"], ["skglm"]]
# These ship a package of a name that is taken: each gets a folder of its own.
SEPARATE = ["liblinear-multicore"]


def pip(verb: str, *arguments: str) -> bool:
    command = [sys.executable, "-m", "pip", verb, "--quiet", "--disable-pip-version-check"]
    return subprocess.run([*command, *arguments]).returncode == 0


def main() -> None:
    if installed("liblinear-multicore"):  # here it has overwritten liblinear-official, or will
        pip("uninstall", "--yes", "liblinear-multicore", "liblinear-official")
    for choices in ORDINARY:
        if not any(pip("install", choice) for choice in choices):
            print(f"  (no {choices[0]} here: its column will be empty)")
    for package in SEPARATE:
        folder = PEER_PACKAGES / package
        if not folder.is_dir() and not pip(
            "install", "--no-deps", "--target", str(folder), package
        ):
            print(f"  (no {package} here: its column will be empty)")


if __name__ == "__main__":
    main()
