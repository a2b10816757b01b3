"""What an installed wheel must be able to do, for `cibuildwheel` and `clean_install.py`.

Run with the Python that has it: ``python tests/packaging/installed.py``. Needs nothing of the
project's folder.
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np


def demo() -> None:
    """The command runs, on the data that comes along."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "maxmargin", "demo", folder], capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    assert "best possible" in done.stdout, done.stdout


def eight_fits_at_once() -> None:
    """Fits share nothing: side by side they give the bits that they give alone."""
    from maxmargin import LinearSVC, data

    train, _ = data.load_demo()
    alone = [LinearSVC(C=10.0**-k, n_jobs=1).fit(train.X, train.y).coef_ for k in range(8)]
    with ThreadPoolExecutor(8) as threads:
        fits = [threads.submit(LinearSVC(C=10.0**-k).fit, train.X, train.y) for k in range(8)]
    for expected, fit in zip(alone, fits):
        np.testing.assert_array_equal(fit.result().coef_, expected)


if __name__ == "__main__":
    demo()
    eight_fits_at_once()
    unlocked = not getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}{', no GIL' if unlocked else ''}: installed and running")
