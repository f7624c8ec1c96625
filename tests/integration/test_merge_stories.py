"""`ciwm ci` of each device of a matrix, then `ciwm merge`: what they tell beside their series."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import BumpReport, Run, read_record
from ciwm.report.bump_markdown import comment_markdown
from ciwm.store import open_store
from tests.fork import Fork, new_fork

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ciwm.records import Samples

LABELS = ("h100", "a100")
PACKAGE = '[package]\ncommand = "sh image.sh make"\nsmoke = "sh image.sh smoke"\n'
# in place of an image builder; DEVICE is the machine that a job runs on
IMAGE = "echo $1 $CIWM_IMAGE\n"
NOT_ON_A100 = '[ "$DEVICE" = h100 ] || { echo error: no base image; exit 9; }\n'
# tests of the device: on the a100 those of the last line are skipped
COVER = """\
import json, os, pathlib
lines = pathlib.Path("a.py").read_text().splitlines()
missed = [n for n, line in enumerate(lines, 1) if os.environ["DEVICE"] in line]
hit = [n for n in range(1, len(lines) + 1) if n not in missed]
files = {"a.py": {"executed_lines": hit, "missing_lines": missed}}
pathlib.Path("coverage.json").write_text(json.dumps({"files": files}))
"""
COVERAGE = '[coverage]\nfiles = ["coverage.json"]\n'
# a build that takes two seconds longer on one device, where its limits leave room for one
SLOW = '[ "$DEVICE" = a100 ] || sleep 2\n'
LIMITS = '[gate]\nmax_launches = 4\nbuild_growth = "50%"\nbuild_growth_floor = "1s"\n'
BUILD = '[build]\ncommand = "sh build.sh"\npass_env = ["DEVICE"]\n'
# The figures are drawn, not timed: launches differ by half a percent.
DRAW = """\
import json, random, sys
import framework
level = framework.COST * random.gauss(1, 0.005)
with open(sys.argv[1], "w") as out:
    json.dump({"cost": [level * random.gauss(1, 0.002) for _ in range(9)]}, out)
"""
WORKLOAD = """\
[[workload]]
id = "draw"
command = "{python} bench/draw.py {out}"
metrics = { cost = { unit = "s", better = "lower" } }
"""


class Matrix:
    """A fork whose base and head each device of a matrix compares, with caches of their own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        self.fork: Fork = new_fork(folder)
        self.said = ""

    def commit(self, config: str, files: Mapping[str, str], head: Mapping[str, str]) -> None:
        """Base with files and a configuration, and head."""
        recipe = config if "[build]" in config else f'[build]\npass_env = ["DEVICE"]\n{config}'
        self.base = self.fork.commit({"ciwm.toml": recipe, **files})
        self.head = self.fork.commit(head)

    def measure(self, *labels: str, options: Mapping[str, tuple[str, ...]] | None = None) -> None:
        """What each device's job leaves, as an artifact; what was there is gone."""
        for label in labels:
            self._monkeypatch.setenv("DEVICE", label)
            self._monkeypatch.setenv("CIWM_CACHE_DIR", str(self.folder / f"cache-{label}"))
            sides = ("--base", self.base.sha, "--head", self.head.sha, "--no-fetch")
            place = ("--shard", label, "--shards", ",".join(LABELS))
            out = ("--out", str(self.artifact(label)), *(options or {}).get(label, ()))
            ciwm(["-C", str(self.fork.path), "ci", *sides, *place, *out])

    def artifact(self, label: str) -> Path:
        """Where a device's job leaves its records."""
        return self.folder / "artifacts" / f"shard-{label}"

    def shard(self, label: str) -> BumpReport:
        """What a device's job told."""
        return read_record(self.artifact(label) / "report.json", BumpReport)

    def merge(self, code: int, *options: str) -> BumpReport:
        """The report of all, which has to end with a code."""
        out = ("--out", str(self.folder / "merged"), *options)
        told = ("merge", "--from", str(self.folder / "artifacts"), "--shards", ",".join(LABELS))
        assert ciwm(["-C", str(self.fork.path), *told, *out]) == code
        return read_record(self.folder / "merged" / "report.json", BumpReport)


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Matrix:
    for name in [name for name in os.environ if name.startswith("GITHUB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))
    return Matrix(tmp_path, monkeypatch)


def test_an_image_that_one_device_cannot_make_blocks_as_it_does_alone(matrix: Matrix) -> None:
    matrix.commit(PACKAGE, {"image.sh": IMAGE}, {"image.sh": NOT_ON_A100 + IMAGE})
    matrix.measure(*LABELS)
    alone = matrix.shard("a100")
    assert (alone.exit_code, alone.conclusion) == (1, "failure")
    assert matrix.shard("h100").conclusion == "success"
    report = matrix.merge(alone.exit_code)
    assert report.conclusion == "failure"
    assert {(one.shard, one.side): one.status for one in report.packages} == {
        ("h100", "base"): "packaged",
        ("h100", "head"): "packaged",
        ("a100", "base"): "packaged",
        ("a100", "head"): "failed",
    }
    (stage,) = [one for one in report.stages if one.name == "package"]
    assert stage.message.startswith("a100: the image of head: failed: error: no base image")


def test_a_device_without_the_images_that_others_have_is_named_and_no_success(
    matrix: Matrix,
) -> None:
    matrix.commit(PACKAGE, {"image.sh": IMAGE}, {"a.py": "one\n"})
    elsewhere = matrix.folder / "no-package.toml"
    elsewhere.write_text("")
    matrix.measure(*LABELS, options={"a100": ("--config", str(elsewhere))})
    assert matrix.shard("a100").packages == ()
    report = matrix.merge(0)
    assert report.conclusion == "neutral"
    said = "shard a100 has no result of the stage package, and others do"
    assert report.warnings == (said,)
    assert said in comment_markdown(report)


@pytest.fixture
def covered(matrix: Matrix) -> Matrix:
    config = f'[build]\ncommand = "{sys.executable} cover.py"\npass_env = ["DEVICE"]\n{COVERAGE}'
    matrix.commit(config, {"cover.py": COVER, "a.py": "one\ntwo\n"}, {"a.py": "one\ntwo\n3\n"})
    return matrix


def test_coverage_that_all_devices_agree_on_is_told_once(covered: Matrix) -> None:
    covered.measure(*LABELS)
    report = covered.merge(0)
    assert report.coverage == covered.shard("h100").coverage
    assert report.coverage_by_shard == ()
    assert "Tests reach 100.0% of 3 lines, as at base." in comment_markdown(report)


def test_coverage_that_differs_is_told_of_each_device(covered: Matrix) -> None:
    covered.head = covered.fork.commit({"a.py": "one\ntwo\n3\nnot on a100\nnor on a100\n"})
    covered.measure(*LABELS)
    report = covered.merge(0)
    assert report.coverage is None
    assert [one.shard for one in report.coverage_by_shard] == ["a100", "h100"]
    text = comment_markdown(report)
    # of five lines a100 reaches three, and of the three that head added one
    assert "`a100`: Tests reach 60.0% of 5 lines, **−40.0 points** against base (100.0%)." in text
    assert "**2 of 3 changed lines** that tests could reach are not tested" in text
    assert "- `a.py`: 4–5" in text
    assert "`h100`: Tests reach 100.0% of 5 lines, as at base." in text


def test_a_device_without_coverage_is_named_where_others_have_it(covered: Matrix) -> None:
    elsewhere = covered.folder / "no-coverage.toml"
    elsewhere.write_text("")
    covered.measure(*LABELS, options={"a100": ("--config", str(elsewhere))})
    report = covered.merge(0)
    lacking, found = report.coverage_by_shard
    assert (lacking.shard, found.shard) == ("a100", "h100")
    assert lacking.problems == ("there is no coverage, and other shards have",)
    assert "`a100`:\n\n- ⚠️ there is no coverage, and other shards have" in comment_markdown(report)


def keep(matrix: Matrix, label: str, days_ago: int, value: float) -> None:
    """Keep a device's run as one of base, some days ago, whose launches all cost one value."""
    run = read_record(matrix.artifact(label) / "run" / "run.json", Run)
    at = run.started_at - timedelta(days=days_ago)
    flat = tuple(
        launch.model_copy(
            update={"samples": tuple(_flat(samples, value) for samples in launch.samples)}
        )
        for launch in run.launches
    )
    changes = {
        "id": f"{at:%Y%m%dT%H%M%SZ}-{'a' * 8}-{matrix.base.sha[:8]}",
        "started_at": at,
        "head": run.head.model_copy(update={"revision": matrix.base}),
        "launches": flat,
    }
    open_store("dir:runs", matrix.fork.repository).add(run.model_copy(update=changes))


def _flat(samples: Samples, value: float) -> Samples:
    return samples.model_copy(update={"values": tuple(value for _ in samples.values)})


def test_trends_are_of_the_series_of_each_device(matrix: Matrix) -> None:
    cost = {"framework/__init__.py": "COST = 1.0\n"}
    config = f'[store]\nurl = "dir:runs"\n[gate]\nmax_launches = 4\n{WORKLOAD}'
    matrix.commit(config, {"bench/draw.py": DRAW, **cost}, {"a.py": "one\n"})
    matrix.measure("h100")
    for days_ago, value in ((2, 3.0), (1, 5.0)):
        keep(matrix, "h100", days_ago, value)
    matrix.artifact("h100").rename(matrix.folder / "first")
    matrix.measure(*LABELS)
    report = matrix.merge(0)
    found = {one.series: [point.value for point in one.points] for one in report.trends}
    assert found == {"draw@a100": [3.0, 5.0], "draw@h100": [3.0, 5.0]}
    rows = [line for line in comment_markdown(report).splitlines() if "`draw@" in line]
    assert len(rows) == 2
    assert all("▁" in row for row in rows)


WAIVER = """\
[[waiver]]
series = "draw"
ceiling = "8%"
reason = "until the rewrite"
author = "Ada"
issue = "#412"
expires = 2020-01-31
"""


def test_a_waiver_that_every_device_would_close_is_told(matrix: Matrix) -> None:
    cost = {"framework/__init__.py": "COST = 1.0\n", "ciwm-waivers.toml": WAIVER}
    config = f'[store]\nurl = "dir:runs"\n[gate]\nmax_launches = 4\n{WORKLOAD}'
    matrix.commit(config, {"bench/draw.py": DRAW, **cost}, {"a.py": "one\n"})
    matrix.measure(*LABELS)
    report = matrix.merge(0)
    assert [(one.series, one.issue) for one in report.closing] == [("draw", "#412")]
    assert "Waivers to close" in comment_markdown(report)


@pytest.mark.parametrize("workload", ["", WORKLOAD])
def test_a_build_that_takes_too_long_on_one_device_blocks(matrix: Matrix, workload: str) -> None:
    files = {"bench/draw.py": DRAW, "framework/__init__.py": "COST = 1.0\n", "build.sh": "true\n"}
    matrix.commit(BUILD + LIMITS + workload, files, {"build.sh": SLOW})
    matrix.measure(*LABELS)
    assert [matrix.shard(label).exit_code for label in LABELS] == [1, 0]
    report = matrix.merge(1)
    assert report.verdict is not None
    found = {one.series: one.outcome for one in report.verdict.series if one.of_build}
    assert found == {"build@a100": "unchanged", "build@h100": "regressed"}
    assert "Head's build takes too long on h100" in report.headline


def test_a_head_that_one_device_cannot_build_blocks_whatever_another_has(matrix: Matrix) -> None:
    base, head = '[ "$DEVICE" != a100 ]\n', '[ "$DEVICE" != h100 ]\n'
    matrix.commit(BUILD, {"build.sh": base}, {"build.sh": head})
    matrix.measure(*LABELS)
    assert [matrix.shard(label).exit_code for label in LABELS] == [1, 0]
    report = matrix.merge(1)
    assert report.conclusion == "failure"
    assert report.headline.startswith("Head does not build")


def test_a_second_matrix_confirms_what_the_first_found(matrix: Matrix) -> None:
    files = {"bench/draw.py": DRAW, "framework/__init__.py": "COST = 1.0\n"}
    slower = {"framework/__init__.py": "COST = 1.1\n"}
    matrix.commit(f"[gate]\nconfirm = true\n{WORKLOAD}", files, slower)
    matrix.measure(*LABELS)
    first = matrix.merge(0)
    assert first.verdict is not None
    assert (first.verdict.needs_confirmation, first.conclusion) == (True, "neutral")

    for folder in ("artifacts", "merged"):
        (matrix.folder / folder).rename(matrix.folder / f"first-{folder}")
    earlier = {
        label: ("--confirms", str(matrix.folder / "first-artifacts" / f"shard-{label}"))
        for label in LABELS
    }
    matrix.measure(*LABELS, options=earlier)
    assert [matrix.shard(label).exit_code for label in LABELS] == [1, 1]
    alone = matrix.merge(4)  # the evidence of these jobs without that of the earlier ones
    (stage,) = [one for one in alone.stages if one.status == "failed"]
    assert (stage.name, alone.conclusion) == ("gate", "failure")
    assert "confirms the run" in stage.message
    assert "ciwm merge --confirms RUN" in stage.hint

    (matrix.folder / "merged").rename(matrix.folder / "alone")
    report = matrix.merge(1, "--confirms", str(matrix.folder / "first-merged"))
    assert report.verdict is not None
    assert {one.series: one.outcome for one in report.verdict.series} == {
        "draw@a100": "regressed",
        "draw@h100": "regressed",
    }
    assert all(one.confirmation is not None for one in report.verdict.series)
    assert report.conclusion == "failure"
