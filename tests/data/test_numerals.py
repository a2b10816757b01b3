"""The fast path for numerals gives, bit for bit, the nearest float32 or float64."""

from __future__ import annotations

import io
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maxmargin import data


def read_values(numerals: list[str], dtype: str) -> np.ndarray:
    line = "0 " + " ".join(f"{j + 1}:{text}" for j, text in enumerate(numerals)) + "\n"
    return data.open(io.BytesIO(line.encode()), format="svmlight", dtype=dtype).X.data


def nearest_float32(text: str) -> np.float32:
    """Rounded once, to even: numpy rounds to float64 on the way."""
    exact = Fraction(text)
    with np.errstate(over="ignore"):
        guess = np.float32(float(text))
    candidates = [
        guess,
        np.nextafter(guess, np.float32(-np.inf)),
        np.nextafter(guess, np.float32(np.inf)),
    ]
    best = min(
        (c for c in candidates if np.isfinite(c)),
        key=lambda c: (abs(Fraction(float(c)) - exact), int(c.view(np.uint32)) & 1),
    )
    return -np.float32(0) if best == 0 and text.startswith("-") else best


def assert_same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    bits = np.uint32 if found.dtype == np.float32 else np.uint64
    wrong = np.flatnonzero(found.view(bits) != expected.view(bits))
    assert not len(wrong), f"{found[wrong[:5]]} instead of {expected[wrong[:5]]} at {wrong[:5]}"


def numerals_of_many_shapes(count: int) -> list[str]:
    draw = random.Random(0)
    texts = []
    for _ in range(count):
        whole = "".join(draw.choices("0123456789", k=draw.choice([0, 1, 1, 2, 5, 9, 17, 19, 25])))
        part = "".join(draw.choices("0123456789", k=draw.choice([0, 1, 3, 6, 7, 8, 16, 22, 30])))
        if not whole and not part:
            whole = "0"
        text = draw.choice(["", "-"]) + whole
        text += "." + part if part else draw.choice(["", "."] if whole else [""])
        if draw.random() < 0.3:
            text += draw.choice("eE") + draw.choice(["", "+", "-"]) + str(draw.randrange(31))
        texts.append(text)
    return texts


def half_way_between_floats(count: int) -> list[str]:
    """Numerals at, just below and just above the middle of two neighbouring float32."""
    draw = np.random.default_rng(0)
    texts = []
    for low in draw.uniform(0.01, 1e7, count).astype(np.float32):
        high = np.nextafter(low, np.float32(np.inf))
        middle = (float(low) + float(high)) / 2  # exact
        texts += [f"{middle:.30f}", f"{middle:.15g}", f"{middle:.17g}", f"{middle:.9g}"]
        texts += [f"{middle:.30f}" + "1", repr(float(np.nextafter(middle, 0))), repr(middle)]
    return texts


def rounded_twice_is_wrong(count: int) -> list[str]:
    """Numerals short enough for the fast path whose nearest double is half way between two floats.

    Rounding such a double to float32 goes to even, whichever side the numeral itself lies on.
    """
    draw = np.random.default_rng(0)
    texts = []
    while len(texts) < count:
        low = np.float32(draw.uniform(0.1, 0.9))
        middle = (float(low) + float(np.nextafter(low, np.float32(1)))) / 2
        text = f"{middle:.16f}"
        is_short = int(text.replace(".", "")) <= 2**53
        if is_short and np.float32(float(text)) != nearest_float32(text):
            texts.append(text)
    return texts


# Twenty digits that, taken modulo 2^64, look like a small whole number.
WRAPPED = [str(2**64 + 1), str(2**64 + 12345), f"{2**64 + 7}e-3"]
WRAPPED += [f"{str(2**64 + 99)[:5]}.{str(2**64 + 99)[5:]}", "-" + str(2**64)]

EXTREMES = [
    "0", "-0", "0.0", "-0.0", "00", "007", "1.", ".5", "-.5", "+1", "+.25", "9007199254740992",
    "9007199254740993", "9007199254740994", "1e22", "1e23", "1e-22", "1e-23", "9007199254740993e22",
    "16777217", "16777219", "1e-320", "4.9e-324", "2e-324", "1e-400", "-1e-400", "0e999999999999",
    "0.000000000000000000000000000000000000000000000000000001e40", "1" + "0" * 30 + "e-30",
    "3.4028234e38", "1e-45", "7e-46", "7.1e-46", "1e-99999999999999999999", "1.17549435e-38",
]  # fmt: skip


@pytest.mark.parametrize("texts", [numerals_of_many_shapes(20_000), EXTREMES, WRAPPED])
def test_float64_values_are_those_of_a_correct_reader(texts):
    texts = [t for t in texts if np.isfinite(float(t))]
    assert_same_bits(read_values(texts, "float64"), np.array([float(t) for t in texts]))


@pytest.mark.parametrize(
    "texts",
    [
        numerals_of_many_shapes(5_000),
        half_way_between_floats(500),
        rounded_twice_is_wrong(100),
        EXTREMES,
        WRAPPED,
    ],
)
def test_float32_values_are_rounded_once(texts):
    texts = [t for t in texts if abs(float(t)) < 3.4e38 and len(t.lower().partition("e")[2]) < 5]
    expected = np.array([nearest_float32(t) for t in texts], np.float32)
    assert_same_bits(read_values(texts, "float32"), expected)


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(5e-324)
@example(1.7976931348623157e308)
def test_shortest_numerals_of_any_double_read_back(x):
    assert_same_bits(read_values([repr(x)], "float64"), np.array([x]))


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
@settings(max_examples=50)
def test_all_digits_of_any_float_read_back(xs):
    assert_same_bits(
        read_values([f"{x:.60e}" for x in xs], "float32"), np.array(xs, dtype=np.float32)
    )


@pytest.mark.parametrize(
    "text",
    ["", "-", "+", ".", "-.", "+-1", "-+1", "--1", "1e", "1e+", "e5", "1.2.3", "0x10", "1,5", "1_0",
     "1f", "nan", "inf", "-inf", "NaN", "infinity", "nan(1)", "1e400", "1e99999999999999999999",
     "١", "1:2", "1\x00"],
)  # fmt: skip
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(data.DataError, match=r"^stream:1: found '1:"):
        read_values([text], "float64")


def test_a_number_too_large_for_float32_says_so():
    with pytest.raises(data.DataError, match="float32 can hold; read the file as float64"):
        read_values(["1e39"], "float32")
    assert read_values(["1e39"], "float64") == 1e39
