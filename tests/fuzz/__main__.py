"""Runs all fuzzers, or those named: `python -m tests.fuzz BUILD [TARGET ...] --seconds 5`.

BUILD holds the fuzzers of the core (`make fuzz` builds them). Those of files follow, each in a
process of its own, on a core with sanitizers if MAXMARGIN_SANITIZED_CORE names one.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
CORE = ["svmlight", "fasta", "numerals", "rows", "parquet"]
FILES = [
    *("csv", "svmlight", "parquet", "arrow", "store", "zstd", "gzip"),
    *("fasta", "queries"),
    *("encoded-csv", "encoded-parquet", "encoded-models"),
    *("models", "liblinear", "checkpoint"),
]
TARGETS = [f"core.{name}" for name in CORE] + [f"files.{name}" for name in FILES]


def run(command: list[str], **options) -> tuple[int, str]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    return done.returncode, done.stdout.decode(errors="replace")


def fuzz_core(build: Path, name: str, seconds: float) -> int:
    """Inputs tried. libFuzzer's finds go to the folder of the build, and grow from run to run."""
    found = build / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds:g}",
        f"-artifact_prefix={build}/{name}-",
        "-rss_limit_mb=2048",
    ]
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    program = build / f"fuzz_{name}"
    status, output = run([str(program), *options, str(found), str(CORPUS / name)], env=environment)
    tried = re.search(r"Done (\d+) runs", output)
    if status != 0 or tried is None:
        sys.exit(f"{output[-5000:]}\nfuzz core.{name}: a fault; the input is {build}/{name}-...")
    return int(tried[1])


def fuzz_files(name: str, seconds: float, seed: int) -> int:
    command = [sys.executable, "-m", "tests.fuzz.files", name, f"--seconds={seconds}"]
    status, output = run([*command, f"--seed={seed}"])
    tried = re.search(r"(\d+) inputs, no fault", output)
    if status != 0 or tried is None:
        sys.exit(f"{output[-5000:]}\nfuzz files.{name}: a fault (exit {status}); see above")
    return int(tried[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("target", nargs="*", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=5, help="for each target")
    parser.add_argument("--seed", type=int, default=1, help="for changes of files")
    options = parser.parse_args()
    if unknown := set(options.target) - set(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    for target in options.target or TARGETS:
        folder, name = target.split(".")
        if folder == "core":
            tried = fuzz_core(options.build, name, options.seconds)
        else:
            tried = fuzz_files(name, options.seconds, options.seed)
        print(f"fuzz {target}: {tried} inputs, no fault", flush=True)


if __name__ == "__main__":
    main()
