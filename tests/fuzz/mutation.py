"""Changes of files: of single bytes, and of values inside JSON that stays well-formed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

TELLING_BYTES = b'\x00\x01\t\n\r "#+,-.09:;=>ENTe{}[]\x7f\x80\xff\xfe'
TELLING_NUMBERS = [0, 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
TELLING_VALUES: list[Any] = [
    *(None, True, "", "x", [], {}, [[]], {"x": 1}, "\x1b[2J", "\ud800"),
    *(-1, 0, 1, 2, 1000, 2**31, 2**53, 2**63, 10**400, -(2**63)),
    *(0.5, -0.0, 1e-320, 1e308, -1e308, float("inf"), float("nan")),
]


def change_bytes(data: bytes, random: random.Random, pool: list[bytes]) -> bytes:
    """Up to four changes."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        random.choice(_CHANGES)(changed, random.randint(0, len(changed)), random, pool)
    return bytes(changed)


def _flip(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    data[at : at + 1] = bytes(byte ^ 1 << random.randrange(8) for byte in data[at : at + 1])


def _replace(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    data[at : at + 1] = bytes([random.choice(TELLING_BYTES)])


def _insert(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    data[at:at] = bytes([random.choice(TELLING_BYTES)]) * random.choice([1, 1, 1, 8, 300])


def _remove(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    del data[at : at + random.randint(1, 16)]


def _cut(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    del data[at:]


def _splice(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    other = random.choice(pool)
    begin = random.randint(0, len(other))
    data[at:at] = other[begin : begin + random.randint(1, 64)]


def _set_number(data: bytearray, at: int, random: random.Random, pool: list[bytes]) -> None:
    width = random.choice([4, 8])
    at -= at % width
    number = random.choice(TELLING_NUMBERS) % (1 << 8 * width)
    if at + width <= len(data):
        data[at : at + width] = number.to_bytes(width, "little")


_CHANGES: list[Callable[[bytearray, int, random.Random, list[bytes]], None]] = [
    *(_flip, _replace, _insert, _remove, _splice, _set_number, _set_number),
    _cut,
]


def change_json(text: str, random: random.Random) -> str:
    """The text with one value inside replaced, removed or repeated."""
    root = [json.loads(text)]
    places = list(_places(root))
    for _ in range(random.randint(1, 2)):
        holder, key = random.choice(places)
        if not isinstance(holder, list) or key < len(holder):
            _change_value(holder, key, random)
    return json.dumps(root[0]) if root else ""


def _places(holder: Any):
    """(container, key) of every value below."""
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    for key in keys:
        yield holder, key
        if isinstance(holder[key], (dict, list)):
            yield from _places(holder[key])


def _change_value(holder: Any, key: Any, random: random.Random) -> None:
    kind = random.randrange(6)
    if kind == 0:
        holder.pop(key, None) if isinstance(holder, dict) else holder.pop(key)
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif kind == 2 and isinstance(holder, dict):
        holder[random.choice(["", "x", *holder])] = holder.pop(key, None)
    else:
        holder[key] = random.choice(TELLING_VALUES)
