"""float8 by the definition of its bits; expected values are the formats' published ones."""

from __future__ import annotations

import math

import pytest

from ciwm.worker.opmap.fp8 import FORMATS, decoded, rounded

E4M3, E5M2 = FORMATS["float8_e4m3fn"], FORMATS["float8_e5m2"]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (0x00, 0.0),
        (0x01, 2.0**-9),  # the smallest subnormal
        (0x08, 2.0**-6),  # the smallest normal
        (0x38, 1.0),
        (0x7E, 448.0),  # the largest
        (0xFE, -448.0),
    ],
)
def test_e4m3_codes_are_what_the_ocp_specification_says(code: int, value: float) -> None:
    assert decoded(code, E4M3) == value


def test_e4m3_has_no_infinity_and_e5m2_has() -> None:
    assert math.isnan(decoded(0x7F, E4M3))
    assert decoded(0x7C, E5M2) == math.inf
    assert math.isnan(decoded(0x7D, E5M2))
    assert decoded(0x7B, E5M2) == 57344.0


def test_rounding_is_to_nearest_with_ties_to_the_even_code() -> None:
    assert decoded(rounded(1.0625, E4M3), E4M3) == 1.0  # between 1.0 (0x38) and 1.125 (0x39)
    assert decoded(rounded(1.1875, E4M3), E4M3) == 1.25  # between 1.125 (0x39) and 1.25 (0x3A)
    assert decoded(rounded(1.07, E4M3), E4M3) == 1.125
    assert rounded(-0.0, E4M3) == 0x80


@pytest.mark.parametrize("form", [E4M3, E5M2])
def test_every_finite_code_rounds_to_itself(form: object) -> None:
    assert form in (E4M3, E5M2)
    chosen = E4M3 if form == E4M3 else E5M2
    for code in range(256):
        value = decoded(code, chosen)
        if math.isfinite(value):
            assert rounded(value, chosen) == code
