"""Functions compiled for several processors can neither allocate nor throw (base/clones.hpp)."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLONE = re.compile(r"\.(arch_x86_64_v3|avx2|default)")
FORBIDDEN = re.compile(r"operator new|__throw|__cxa_|_Unwind_Resume|malloc|maxmargin::check")


def library():
    """The core as `make test` builds it, with its symbols."""
    built = sorted(ROOT.glob("build/cp*/libmaxmargin_core.a"), key=lambda p: p.stat().st_mtime)
    if not built or not shutil.which("objdump"):
        pytest.skip("needs objdump and the library that `make test` leaves in build/")
    return built[-1]


def calls_of_clones():
    """(function, what it calls) for every clone of the core."""
    command = ["objdump", "--disassemble", "--reloc", "--demangle", "--no-show-raw-insn"]
    listing = subprocess.run([*command, library()], capture_output=True, text=True, check=True)
    function = ""
    for line in listing.stdout.splitlines():
        if line.endswith(">:"):
            function = line[line.index("<") + 1 : -2]
        elif "R_X86_64_PLT32" in line and CLONE.search(function):
            yield function, line.split("R_X86_64_PLT32", 1)[1].strip()


def test_clones_neither_allocate_nor_throw():
    bad = {(function, call) for function, call in calls_of_clones() if FORBIDDEN.search(call)}
    assert not bad
