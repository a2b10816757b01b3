"""Bytes out: files that are either whole or not there, and nothing left behind."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from maxmargin.data.errors import DataError


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path` whole when the block ends, and not at all if it fails.

    It is written without a name, where the system can do that, and else beside its place; then it
    is given its name. So a process that is killed leaves nothing behind; where files must have a
    name, the next write to the same place removes what it left. An existing file keeps its
    permissions and is untouched until then. Of several writers the last one's file stays. Devices
    and pipes, which cannot be renamed over, are written directly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with write_atomically(target) as file:
    ...     _ = file.write(b"1 2 3")
    >>> target.read_bytes()
    b'1 2 3'
    """
    target = Path(os.path.realpath(path))
    mode = _mode_of_target(target, path)
    if mode is not None and not stat.S_ISREG(mode):
        try:
            with open(target, "wb") as file:
                yield file
        except OSError as error:
            raise cannot_write(path, error) from error
        return
    beside = _name_beside(target)
    unnamed = _open_unnamed(target.parent)
    try:
        with unnamed or _open_locked(beside) as file:
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if unnamed is not None:
                _give_name(unnamed, beside)
            os.replace(beside, target)
        if unnamed is None:
            _remove_leftovers(target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def cannot_write(path: str | os.PathLike[str], error: OSError) -> DataError:
    """What to say when a file cannot be written."""
    return DataError(
        f"{os.fspath(path)}: cannot be written: {error.strerror or error}; "
        "expected a folder that exists, may be written to and has room"
    )


def _mode_of_target(target: Path, path: str | os.PathLike[str]) -> int | None:
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_write(path, error) from error
    if stat.S_ISDIR(mode):
        raise DataError(
            f"{os.fspath(path)}: cannot be written: it is a folder; expected the name of a file"
        )
    if stat.S_ISREG(mode) and not os.access(target, os.W_OK):
        raise DataError(
            f"{os.fspath(path)}: cannot be written: it is write-protected; "
            "choose another place or change its permissions"
        )
    return mode


def _open_unnamed(folder: Path) -> IO[bytes] | None:
    """A file that vanishes unless it is given a name; None where there is no such thing."""
    if not hasattr(os, "O_TMPFILE") or not os.path.exists("/proc/self/fd"):
        return None
    try:
        return open(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "wb")
    except OSError:
        return None


def _give_name(file: IO[bytes], name: Path) -> None:
    """Put a file without a name into its folder."""
    folder = os.open(name.parent, os.O_RDONLY)
    try:
        # Any descriptor of a folder makes Python follow the link that stands for the open file.
        os.link(f"/proc/self/fd/{file.fileno()}", name, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


# ---------------------------------------------------------------- files that must have a name


def _name_beside(target: Path) -> Path:
    return target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.part")


def _open_locked(name: Path) -> IO[bytes]:
    """A new file. The lock says that its writer lives, and ends with it."""
    file = open(name, "xb")  # noqa: SIM115 (closed by the caller)
    with suppress(OSError):  # some network drives have no locks, and keep their leftovers
        fcntl.flock(file, fcntl.LOCK_EX)
    if os.fstat(file.fileno()).st_nlink:
        return file
    file.close()  # taken for a leftover before it was locked
    return _open_locked(name)


def _remove_leftovers(target: Path) -> None:
    """Remove what writers that were killed have left beside their place."""
    part = re.compile(re.escape(f".{target.name[:200]}.") + r"[0-9a-f]{12}\.part")
    for entry in os.scandir(target.parent):
        if not part.fullmatch(entry.name):
            continue
        with suppress(OSError), open(entry.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(entry.path)
