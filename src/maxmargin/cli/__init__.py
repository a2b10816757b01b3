"""The command-line face. Heavy imports wait inside the commands: starting must cost nothing."""

import sys

try:
    import numpy  # noqa: F401
except (KeyboardInterrupt, MemoryError) as error:
    # Its BLAS starts threads, and interrupts the process where it cannot.
    cause = "memory" if isinstance(error, MemoryError) else "threads (ulimit -u), if not by Ctrl-C"
    sys.exit(f"maxmargin: stopped before it could start: the system lets it have no more {cause}")
