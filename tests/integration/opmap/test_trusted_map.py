"""A map in the trusted half: losses are judged by the base's policy, whatever the report says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.map_examples import map_change, map_diff
from tests.trusted_half import POLICY, TrustedHalf, claimed, measured, packed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.github_bed.bed import GitHubBed

    Half = Callable[..., TrustedHalf]

ENABLED = {"ciwm.toml": POLICY + "[map]\nenabled = true\n"}
PERMISSIVE = {"ciwm.toml": POLICY + "[map]\nenabled = true\n[gate]\nblock_on = ['regression']\n"}
LOST = map_diff(map_change(blocks=False))  # which claims that nothing blocks


@pytest.fixture
def half(github: GitHubBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Half:
    return lambda **known: TrustedHalf(github, tmp_path, monkeypatch, **known)


def test_a_loss_that_the_report_plays_down_fails_the_check(half: Half) -> None:
    claims = claimed(map_diff=LOST)
    pair = half(from_fork=False, policy=ENABLED).leaves(packed(claims, measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "1 new CPU fallback: aten::cumsum.out" in pair.comment


def test_a_loss_that_the_base_does_not_block_on_is_neutral(half: Half) -> None:
    claims = claimed(map_diff=LOST)
    pair = half(from_fork=False, policy=PERMISSIVE).leaves(packed(claims, measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "neutral"


def test_maps_that_were_not_alike_are_neutral(half: Half) -> None:
    gone = map_change(kind="kernel no longer needed", lost=False, blocks=False)
    claims = claimed(map_diff=map_diff(gone, void="base was mapped for cuda, head for npu: so"))
    pair = half(from_fork=False, policy=ENABLED).leaves(packed(claims, measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "neutral"
    assert "workload map is void (base was mapped for cuda, head for npu: so)" in pair.comment


def test_a_report_that_leaves_the_map_out_does_not_pass(half: Half) -> None:
    pair = half(from_fork=False, policy=ENABLED).leaves(packed(run=measured()))
    assert pair() == 0
    assert pair.check["conclusion"] == "failure"
    assert "comes without a map" in pair.comment
