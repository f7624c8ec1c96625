"""Numbers as people read them, each expectation by hand."""

from __future__ import annotations

import pytest

from ciwm.report.figures import change, duration, plural, quantity, rate


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0.0125, "s", "12.5 ms"),
        (1.5, "s", "1.5 s"),
        (0, "s", "0 s"),
        (2.5e-10, "s", "0.25 ns"),
        (1234.5678, "ms", "1.235 s"),
        (83, "us", "83 µs"),
        (150_754_820_096, "bytes", "140.4 GiB"),
        (1023, "bytes", "1,023 bytes"),
        (1234567.8, "tokens/s", "1,234,568 tokens/s"),
        (0.00001234, "loss", "1.234e-05 loss"),
        (1e300, "x", "1e+300 x"),
        (-0.5, "s", "-500 ms"),
        (3, "", "3"),
    ],
)
def test_a_quantity_has_four_digits_and_the_unit_that_reads_best(
    value: float, unit: str, said: str
) -> None:
    assert quantity(value, unit) == said


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.0, "+0.0%"),
        (1.124, "+12.4%"),
        (0.91, "−9.0%"),
        (9.99, "+899.0%"),
        (10, "×10"),
        (0.05, "×0.05"),
        (1e300, "×1e+300"),
    ],
)
def test_a_ratio_is_a_signed_percentage_or_a_factor(ratio: float, said: str) -> None:
    assert change(ratio) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (59.6, "1 min 0 s"),
        (312.6, "5 min 13 s"),
        (5400, "1 h 30 min"),
        (90_000, "25 h 0 min"),
    ],
)
def test_a_duration_reads_as_people_say_it(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("number", "noun", "many", "said"),
    [
        (1, "file", "", "1 file"),
        (0, "file", "", "0 files"),
        (1204, "launch", "", "1,204 launches"),
        (2, "series", "", "2 series"),
        (1, "binary", "binaries", "1 binary"),
        (2, "binary", "binaries", "2 binaries"),
    ],
)
def test_a_count_agrees_with_its_noun(number: int, noun: str, many: str, said: str) -> None:
    assert plural(number, noun, many) == said


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (7.16e14, "op/s", "716 Top/s"),
        (4.81e12, "B/s", "4.81 TB/s"),
        (1.5e15, "op/s", "1.5 Pop/s"),
        (999, "op/s", "999 op/s"),
        (2.4e-6, "s", "2.4 µs"),
    ],
)
def test_a_rate_has_the_prefix_that_reads_best(value: float, unit: str, said: str) -> None:
    assert rate(value, unit) == said
