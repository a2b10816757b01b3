"""Install a wheel into an environment of its own, with no compiler to be found, and try it.

python tests/packaging/clean_install.py WHEEL [PYTHON]

Prints what a stranger waits for: the install, the first import, the demo; and the size on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def run(*command: str | Path, env: dict[str, str]) -> tuple[float, str]:
    """Seconds and output of a command, which must succeed."""
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - start, done.stdout


def best(times: int, *command: str | Path, env: dict[str, str]) -> float:
    return min(run(*command, env=env)[0] for _ in range(times))


def size_of(folder: Path) -> float:
    """Megabytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main(wheel: str, python: str = sys.executable) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        subprocess.run([python, "-m", "venv", home / "env"], check=True)
        binaries = home / "env" / ("Scripts" if os.name == "nt" else "bin")
        env = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX", "PYTHONPATH")}
        env["PATH"] = str(binaries)  # no compiler, no make
        mine = binaries / "python"
        installed, _ = run(mine, "-m", "pip", "install", "--only-binary=:all:", wheel, env=env)
        version = run(mine, "-c", "import sys; print(sys.version.split()[0])", env=env)[1].strip()
        package = next((home / "env").rglob("site-packages/maxmargin"))
        nothing = best(5, mine, "-c", "pass", env=env)
        imported = best(5, mine, "-c", "import maxmargin", env=env) - nothing
        demo = best(3, binaries / "maxmargin", "demo", home / "demo", env=env)
        print(run(mine, HERE / "installed.py", env=env)[1].strip())
        print(
            f"Python {version}: installed in {installed:.1f} s (dependencies from the index "
            f"included), import {imported:.3f} s, maxmargin demo {demo:.2f} s\n"
            f"wheel {Path(wheel).stat().st_size / 1e6:.1f} MB, package {size_of(package):.1f} MB, "
            f"with all dependencies {size_of(package.parent):.0f} MB"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
