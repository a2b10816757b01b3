"""The most memory that a command of ours takes."""

from __future__ import annotations

import json
import subprocess
import sys

CODE = r"""
import re, sys
from maxmargin.cli.main import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    if end.code:
        raise
# unlike getrusage, this counts nothing of the process that started us
print(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
"""


def run(*arguments: str) -> tuple[dict, int]:
    """What ``maxmargin ARGUMENTS --json`` tells, and its peak in bytes (Linux only)."""
    command = [sys.executable, "-c", CODE, *arguments, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    told, peak = done.stdout.strip().rsplit("\n", 1)
    return json.loads(told), 1024 * int(peak)
