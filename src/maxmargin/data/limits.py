"""How much a file may ask for: a small file can unpack to any size, and a line need not end.

Two environment variables raise (or lower) the limits, for every command and every function alike:
``MAXMARGIN_MAX_UNPACKED`` and ``MAXMARGIN_MAX_LINE``, in bytes or as in 20GB.
"""

from __future__ import annotations

import math
import os
import re

from maxmargin.data.errors import DataError

MAX_LINE, MAX_UNPACKED = "MAXMARGIN_MAX_LINE", "MAXMARGIN_MAX_UNPACKED"

_LONGEST_LINE = 64 << 20
# Text packs ten to thirty times; what is small after all need not be packed well.
_TIMES_PACKED = 100
NOT_MUCH = 256 << 20

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([kmgt]?)i?b?\s*")


def parse_bytes(amount: int | float | str, what: str = "memory") -> int:
    """Bytes from a number or from text such as "2GB", "512 MiB"."""
    if isinstance(amount, str):
        match = _AMOUNT.fullmatch(amount.lower())
        if match is None:
            raise ValueError(f"{what} must be a number of bytes or text like '2GB'; got {amount!r}")
        power = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}[match[2]]
        return parse_bytes(float(match[1]) * 1024**power, what)
    if not amount > 0:
        raise ValueError(f"{what} must be positive; got {amount!r}")
    return int(amount)


def spell_bytes(size: float) -> str:
    """An amount as `parse_bytes` reads it, to two digits: "9 MB", "1.5 GB"."""
    power = min(int(math.log(max(size, 1), 1024)), 4)
    return f"{float(f'{size / 1024**power:.2g}'):g} {('B', 'KB', 'MB', 'GB', 'TB')[power]}"


def _from_environment(name: str) -> int | None:
    amount = os.environ.get(name)
    return None if not amount else parse_bytes(amount, name)


def longest_line(otherwise: int = _LONGEST_LINE) -> int:
    """Bytes a line of text (or an entry of FASTA) may have."""
    return _from_environment(MAX_LINE) or otherwise


def line_too_long(place: str, limit: int) -> DataError:
    """What to say of a line that goes on and on."""
    return DataError(
        f"{place}: found a line of more than {limit >> 20} MB; expected one row a line; if the "
        f"file is right, set {MAX_LINE} to what a line may have"
    )


def most_unpacked(packed: int) -> int:
    """Bytes that `packed` bytes may become."""
    return _from_environment(MAX_UNPACKED) or max(NOT_MUCH, _TIMES_PACKED * packed)


def check_unpacked(name: str, size: int, packed: int) -> None:
    """Refuse what `packed` bytes have become, or are about to become, if that is a bomb."""
    limit = most_unpacked(packed)
    if size > limit:
        raise DataError(
            f"{name}: {packed} bytes unpack to {_shown(size)} or more; expected at most "
            f"{_shown(limit)}; if the file is right, set {MAX_UNPACKED} to what it may have"
        )


def _shown(size: int) -> str:
    return f"{size / 2**30:.3g} GB" if size >= 1 << 30 else f"{size >> 20} MB"
