"""What was adopted is as good as the reference under every model, and better where it matters."""

from __future__ import annotations

import pytest

from tests.stats.noise import MODELS
from tests.stats.variants import KNOWN, OLD, Variant, figures

ROUNDING = 0.005  # two variants see the same launches, so that little of a difference is luck


@pytest.mark.heavy
@pytest.mark.parametrize("adopted", [Variant(), KNOWN], ids=["as it is", "calibrated"])
def test_the_adopted_rule_blocks_as_often_as_the_reference_everywhere(adopted: Variant) -> None:
    for effect in (0.05, 0.10):
        better = [figures(model, effect, 2000, adopted).blocked for model in MODELS]
        reference = [figures(model, effect, 2000, OLD).blocked for model in MODELS]
        assert all(one >= two - ROUNDING for one, two in zip(better, reference, strict=True))
        assert sum(better) >= sum(reference)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_a_calibrated_gate_alarms_no_more_often(model: str) -> None:
    assert figures(model, 0.0, 4000, KNOWN).blocked <= 0.0025  # build luck is a true difference
