"""What may be written over: an earlier output of the same kind, and nothing else unasked."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from maxmargin.data.errors import DataError

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Kind:
    """A kind of output: what messages call it, and whether a file holds one."""

    name: str
    holds: Callable[[Path], bool]


def check_output(
    path: Path,
    kind: Kind,
    inputs: Iterable[Path] = (),
    *,
    force: bool = False,
    override: str = "--force",
) -> None:
    """Refuse to write where it cannot be done, or where something would be lost.

    A file may be replaced if it is empty or holds an output of the same `kind`, is none of the
    `inputs` of the work, and is no link to a file elsewhere. With `force` any file may. Folders
    never are; devices and pipes always may be written to. Other names of the same file (hard
    links) keep what they have.

    `override` is what messages name for those who mean it.
    """
    name = os.fspath(path)
    target = os.path.realpath(path)
    _check_place(name, target)
    if not os.path.exists(target) or not stat.S_ISREG(os.stat(target).st_mode):
        return
    if not os.access(target, os.W_OK):
        raise DataError(f"{name}: is write-protected: name another file or change its permissions")
    if force or (not os.path.getsize(target) and not is_one_of(path, inputs)):
        return
    if is_one_of(path, inputs):
        found = "is read by this command too"
    elif os.path.islink(path):
        found = f"is a link to {target}"
    elif not kind.holds(target):
        found = f"exists and does not hold {kind.name}"
    else:
        return
    raise DataError(f"{name}: {found}: name another file, or say {override} to write over it")


def is_one_of(path: Path, others: Iterable[Path]) -> bool:
    """Whether a path leads to the same file as one of the others, by whatever name."""
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            return True
        if os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other):
            return True
    return False


def begins(*starts: bytes) -> Callable[[Path], bool]:
    """Whether a file begins with one of these bytes."""

    def begins(path: Path) -> bool:
        with open(path, "rb") as file:
            return file.read(max(map(len, starts))).startswith(starts)

    return begins


def _check_place(name: str, target: str) -> None:
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise DataError(f"{name}: is a folder: name a file")
    if not os.path.isdir(folder):
        raise DataError(f"{name}: the folder {folder} does not exist: create it or name another")
    special = os.path.exists(target) and not os.path.isfile(target)
    if not special and not os.access(folder, os.W_OK):
        raise DataError(f"{name}: cannot write to the folder {folder}: name another")
