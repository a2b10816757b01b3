"""Numbers as people write them: 1,234.50, 1.234,50, $12, 12 %.

Whether a comma parts thousands or decimals shows in the whole column, never in one value: "1,234"
may be either. So a column has one way of writing, found in training and kept in the model.
"""

from __future__ import annotations

import math
import re

POINT = "1,234.56"
COMMA = "1.234,56"
WAYS = (POINT, COMMA)  # what programs write is POINT, too

_SIGN, _MONEY = r"(?P<sign>[-+]?)", "[$€£¥₹]"
_BODY = {
    POINT: r"(?:[1-9]\d{0,2}(?:[,'\u00a0\u202f]\d{3})+(?:\.\d*)?|\d+\.?\d*|\.\d+)",
    COMMA: r"(?:[1-9]\d{0,2}(?:[.'\u00a0\u202f]\d{3})+(?:,\d*)?|\d+(?:,\d*)?|,\d+)",
}
_WRITTEN = {
    way: re.compile(
        rf"{_SIGN}(?:{_MONEY}\s?)?(?P<body>{body})\s?(?:{_MONEY}|%)?"
        rf"|{_MONEY}\s?(?P<sign2>[-+])(?P<body2>{body})",
        re.ASCII,
    )
    for way, body in _BODY.items()
}
_BETWEEN_THOUSANDS = {POINT: re.compile("[,'\u00a0\u202f]"), COMMA: re.compile("[.'\u00a0\u202f]")}


def plain_number(text: str) -> float:
    """A number as programs write it; NaN for anything else."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def number_written(text: str, way: str) -> float:
    """A number in one of `WAYS`, with or without a sign of money or per cent; NaN if it is none."""
    if way == POINT:
        number = plain_number(text)
        if not math.isnan(number):
            return number
    found = _WRITTEN[way].fullmatch(text)
    if found is None:
        return math.nan
    sign, body = found["sign"] or found["sign2"] or "", found["body"] or found["body2"]
    digits = _BETWEEN_THOUSANDS[way].sub("", body)
    return float(sign + digits.replace(",", "."))


def also_comma(text: str) -> bool:
    """Whether a number as programs write it is one where a comma parts decimals, too."""
    digits = text.lstrip("+-")
    if digits.isdecimal():
        return True
    return digits[-4:-3] == "." and not math.isnan(number_written(text, COMMA))
