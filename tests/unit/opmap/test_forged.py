"""Maps, manifests and bundles that say what cannot be: one line, and nothing is taken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run
from ciwm.errors import UsageError
from ciwm.records import Manifest, WorkloadMap, parse_record
from tests import map_examples as examples

if TYPE_CHECKING:
    from pathlib import Path


def put(data: Any, where: str, value: Any) -> Any:
    """The data with one value replaced; `where` is keys and places, with dots between."""
    *way, last = [int(key) if key.isdigit() else key for key in where.split(".")]
    inner = data
    for key in way:
        inner = inner[key]
    inner[last] = value
    return data


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("ops.0.count", -1, "ops.0.count: Input should be greater than or equal to 0"),
        ("ops.0.count", 10**30, "ops.0.count: Input should be less than or equal to"),
        ("supports.0.calls", -3, "supports.0.calls: Input should be greater"),
        ("coverage.0.calls", -4, "coverage.0.calls: Input should be greater"),
        ("workloads.0.devices", 0, "workloads.0.devices: Input should be greater"),
        ("workloads.0.intensity.flops", -1.0, "workloads.0.intensity.flops: Input should"),
        ("workloads.0.intensity.flops", 1e300, "workloads.0.intensity.flops: Input should"),
        ("queue.0.order", 0, "queue.0.order: Input should be greater"),
    ],
)
def test_counts_below_zero_and_beyond_belief_are_refused_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], where: str, value: Any, words: str
) -> None:
    good, forged = tmp_path / "good.json", tmp_path / "forged.json"
    good.write_text(examples.workload_map().to_json())
    forged.write_text(json.dumps(put(json.loads(good.read_text()), where, value)))
    assert run(["map", "diff", str(good), str(forged)]) == 2
    said = capfd.readouterr().err
    assert f"{forged} is not a valid WorkloadMap record: {words}" in said
    assert "Traceback" not in said


def test_a_manifest_with_two_rows_for_one_operator_is_refused() -> None:
    data = json.loads(examples.manifest().to_json())
    data["rows"]["missing"][""].append("aten::mm.out")
    with pytest.raises(UsageError, match=r"the operator aten::mm\.out occurs twice"):
        parse_record(json.dumps(data), Manifest, "m")


def test_a_map_whose_verdicts_have_odd_names_is_compared_without_a_crash(tmp_path: Path) -> None:
    data = json.loads(examples.workload_map().to_json())
    sweep: dict[str, Any] = {"device": "toy", "dtypes": ["float32"], "sources": ["edge"]}
    sweep |= {"samples": 1, "operators": 1, "known": 1, "cases": {}, "verdicts": {"sum": "WRONG"}}
    data["correctness"] = {"sweep": sweep}
    path = tmp_path / "map.json"
    path.write_text(json.dumps(data))
    assert parse_record(path.read_text(), WorkloadMap, "m").correctness is not None
    assert run(["map", "diff", str(path), str(path)]) == 0
