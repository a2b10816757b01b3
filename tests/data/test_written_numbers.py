"""Numbers as people write them: thousands, decimal commas, money and per cent."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from maxmargin import data
from maxmargin.data.encoding.encoding import Options, batches_of, fit
from maxmargin.data.encoding.numerals import COMMA, POINT, number_written
from maxmargin.data.encoding.packing import pack, unpack
from maxmargin.data.encoding.places import DataWarning


def encode(values, rows_at_once=50, **options):
    table = pa.table({"a": pa.array(values, pa.string())})
    return fit(["a"], lambda: batches_of(table, rows_at_once), Options(**options))


def values_of(encoding, texts):
    return encoding.columns[0].numbers(pa.array(texts, pa.string()))[0].tolist()


@pytest.mark.parametrize(
    ("text", "way", "number"),
    [
        ("1,234,567.5", POINT, 1234567.5),
        ("-$1,234", POINT, -1234.0),
        ("$ -5.25", POINT, -5.25),
        ("12.5 %", POINT, 12.5),
        ("5 €", POINT, 5.0),
        ("1'234.50", POINT, 1234.5),
        ("1e3", POINT, 1000.0),
        ("12,34", POINT, None),
        ("0,123", POINT, None),
        ("1,2345", POINT, None),
        ("$", POINT, None),
        ("5 kg", POINT, None),
        ("--5", POINT, None),
        ("1_000", POINT, None),
        ("1.234.567,5", COMMA, 1234567.5),
        ("1.234", COMMA, 1234.0),
        ("0,5", COMMA, 0.5),
        ("€ 7,25", COMMA, 7.25),
        ("1\u00a0234,5", COMMA, 1234.5),
        ("1.5", COMMA, None),
    ],
)
def test_a_way_of_writing_says_what_a_comma_is(text, way, number):
    found = number_written(text, way)
    assert math.isnan(found) if number is None else found == number


@pytest.mark.parametrize(
    ("values", "way", "numbers"),
    [
        (["1,234.50", "17", "2.5"], POINT, [1234.5, 17, 2.5]),
        (["1,234", "2,345"], POINT, [1234, 2345]),
        (["1,5", "1.234", "12"], COMMA, [1.5, 1234, 12]),
        (["$3", "$1,200.75"], POINT, [3, 1200.75]),
        (["3 %", "4.5%"], POINT, [3, 4.5]),
    ],
)
@pytest.mark.parametrize("rows_at_once", [2, 50])
def test_the_way_that_fits_the_column_is_found(values, way, numbers, rows_at_once):
    found = encode(values * 10, rows_at_once)
    assert found.columns[0].kind == "number" and found.columns[0].formats == (way,)
    assert values_of(found, values) == numbers
    assert unpack(json.loads(json.dumps(pack(found)))) == found


def test_numbers_as_programs_write_them_need_no_way():
    assert encode(["1.5", "1.234", "-7", "1e3"] * 10).columns[0].formats == ()


def test_codes_and_addresses_stay_categories():
    for values in (["3+", "1", "2"], ["10.0.0.1", "10.0.0.2"], ["A1", "1,2,3"]):
        assert encode(values * 10).columns[0].kind == "category"


def test_the_kind_that_was_said_is_read_in_its_way_too():
    values = [*["1,5", "2,5"] * 5, *["none at all", "few"] * 5]
    with pytest.warns(DataWarning, match="found 'none at all' and 9 more"):
        found = encode(values, kinds={"a": "number"})
    assert values_of(found, ["2,5"]) == [2.5]


def test_a_word_for_missing_values_leaves_a_column_of_numbers_one():
    values = [str(value) for value in range(40)] + ["unknown"] * 30
    with pytest.warns(DataWarning, match="found 'unknown' and 29 more; expected a number"):
        found = encode(values)
    assert found.columns[0].kind == "number" and found.columns[0].indicator


def test_few_numbers_among_words_are_categories():
    assert encode(["0", "1", "2", "3 or more"] * 20).columns[0].kind == "category"


@pytest.mark.parametrize("constant", ["$5", "2020-01-31"])
def test_a_constant_with_missing_values_is_told_from_them(constant):
    found = encode([constant, None] * 20)
    table = pa.table({"a": pa.array([constant, None], pa.string())})
    assert found.transform(table).toarray().ravel().tolist() == [0, 1]


def test_a_thousand_of_a_decimal_comma_is_no_fraction_in_a_file_of_its_own(tmp_path):
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    rows = [f"{j},{j % 10};{'yes' if j > 20 else 'no'}" for j in range(40)]
    train.write_text("\n".join(["size;y", *rows, "1.200,5;yes"]) + "\n")
    test.write_text("size;y\n1.200;yes\n")
    encoder = data.open(train, encode="auto").encoder
    column = encoder.columns[0]
    found = data.open(test, encode=encoder).X
    assert np.allclose(found, (1200 - column.centre) / column.scale)


def test_a_damaged_way_of_writing_is_refused():
    packed = pack(encode(["1,5", "2,5"] * 9))
    packed["columns"][0]["formats"] = ["as you like"]
    with pytest.raises(ValueError, match="numbers written as"):
        unpack(packed)
