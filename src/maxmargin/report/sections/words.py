"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any


def number(value: float) -> str:
    """Four digits, thousands apart where there are many."""
    if value is None or not math.isfinite(value):
        return "-"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def short(value: float) -> str:
    """Two digits, without an exponent where there is room: 4,200 rather than 4.2e+03."""
    text = f"{value:.2g}"
    return f"{float(text):,.0f}" if 100 <= abs(value) < 1e6 else text


def share(value: float) -> str:
    """A share as per cent."""
    return "-" if not math.isfinite(value) else f"{100 * value:.2f} %"


def plain(value: Any) -> str:
    """A parameter of a model as text."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        shown = ", ".join(plain(item) for item in value[:12])
        return shown + (f", ... ({len(value)})" if len(value) > 12 else "")
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def first_of(title: str, shown: int, n: int, which: str) -> str:
    """The title of a table that may hold some of n things only: "Labels (the 30 most frequent of
    50)"."""
    return title if shown >= n else f"{title} (the {number(shown)} {which} of {number(n)})"


def counted(n: float, what: str, more: str | None = None) -> str:
    """ "1 row", "2 rows"."""
    return f"{number(n)} {what if n == 1 else more or what + 's'}"
