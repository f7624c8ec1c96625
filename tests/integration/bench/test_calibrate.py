"""`ciwm bench --calibrate`: one revision against itself, kept, and used by the next bench."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import Calibration, Run, parse_record, read_record
from ciwm.store.directory import DirectoryStore
from tests.integration.bench.test_bench_command import Two, hurry, slow, wait_for_launches

if TYPE_CHECKING:
    from tests.fork import Fork

CONFIG = """
[[workload]]
id = "w"
python = "bench/steps.py:step"
iterations = 5
warmup_iterations = 0
warmup_s = 0
[gate]
max_launches = 8
threshold = "200%"
{gate}
[store]
url = "dir:kept"
"""


@pytest.fixture
def two(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> Two:
    fork.commit({"ciwm.toml": CONFIG.format(gate=""), ".gitignore": "kept\n"})
    fork.commit({"framework/new.py": ""}, branch="sync")
    monkeypatch.chdir(fork.path)
    return Two(fork)


def kept(two: Two) -> list[Calibration]:
    return list(DirectoryStore(two.fork.path / "kept").calibrations())


def test_a_calibration_uses_all_launches_and_is_kept_beside_the_run_and_in_the_store(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "--calibrate", "--out", str(two.out)]) == 0

    shown = capsys.readouterr()
    run = read_record(two.out / "run.json", Run)
    (found,) = kept(two)
    assert (run.plan.purpose, len(run.launches)) == ("calibrate", 16)
    assert run.base.revision.sha == run.head.revision.sha
    assert found == read_record(two.out / "calibration.json", Calibration)
    assert found.series[0].launches == 8
    assert found.revision.sha == run.head.revision.sha
    assert "w step_time" in shown.out
    assert "the gate audits itself: 1 A/A comparison in 1 run" in shown.out


def test_json_and_markdown_are_the_calibration(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "--calibrate", "main", "--json", "--out", str(two.out)]) == 0
    found = parse_record(capsys.readouterr().out, Calibration, source="stdout")
    assert found == kept(two)[0]
    other = two.fork.runs / "other"
    assert ciwm(["bench", "--calibrate", "main", "--markdown", "--out", str(other)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("#### ")
    assert "| `w` step_time | 8+8 |" in out
    assert "2 A/A comparisons in 2 runs" in out


def test_the_next_bench_starts_from_the_noise_that_is_known(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "main", "sync", "--out", str(two.out)]) == 0
    assert read_record(two.out / "run.json", Run).plan.family[0].noise is None
    assert ciwm(["bench", "--calibrate", "--out", str(two.fork.runs / "aa")]) == 0
    assert ciwm(["bench", "main", "sync", "--out", str(two.fork.runs / "ab")]) == 0
    (series,) = read_record(two.fork.runs / "ab" / "run.json", Run).plan.family
    assert series.noise == kept(two)[0].series[0].noise
    assert "noise as calibrated on" in capsys.readouterr().err


def test_a_threshold_below_what_is_detected_is_refused_before_anything_is_launched(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["bench", "--calibrate", "--out", str(two.out)]) == 0
    (found,) = kept(two)
    (two.fork.path / "kept").rename(two.fork.runs / "old")
    certain = found.series[0].model_copy(update={"detectable": 500.0, "noise": 1.0})
    DirectoryStore(two.fork.path / "kept").add_calibration(
        found.model_copy(update={"series": (certain,)})
    )
    arguments = ["bench", "main", "sync", "--out", str(two.fork.runs / "ab")]
    (two.fork.path / "ciwm.toml").write_text(CONFIG.format(gate='on_undetectable = "refuse"'))

    assert ciwm(arguments) == 2
    err = capsys.readouterr().err
    assert "error: w step_time: its threshold of 200 % is below what this machine detects" in err
    assert not (two.fork.runs / "ab" / "run.json").exists()

    (two.fork.path / "ciwm.toml").write_text(CONFIG.format(gate=""))
    assert ciwm(arguments) == 0
    assert ciwm(["gate", str(two.fork.runs / "ab")]) in {0, 1}
    assert "below what this machine detects" in capsys.readouterr().out


def test_an_interrupted_calibration_is_finished_by_resume(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    slow(two)
    (two.fork.path / "ciwm.toml").write_text(
        CONFIG.format(gate="").replace("iterations = 5", "iterations = 20", 1)
    )
    child = two.start("--calibrate", "sync")
    wait_for_launches(two.out, 2)
    child.send_signal(signal.SIGTERM)
    _, stderr = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "next: ciwm bench --resume" in stderr
    assert not (two.out / "calibration.json").exists()

    hurry(two)
    assert ciwm(["bench", "--resume", str(two.out)]) == 0
    assert len(kept(two)) == 1
    assert "the gate audits itself" in capsys.readouterr().out


def test_a_store_that_refuses_loses_nothing(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    (two.fork.path / "kept").mkdir()
    (two.fork.path / "kept" / "letter.txt").write_text("mine")
    assert ciwm(["bench", "--calibrate", "--out", str(two.out)]) == 0
    shown = capsys.readouterr()
    assert "no calibration" not in shown.out
    assert "not kept: " in shown.err
    assert read_record(two.out / "calibration.json", Calibration).series[0].launches == 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--calibrate", "main", "sync"], "name one revision"),
        (["--calibrate", "--factor"], "exclude each other"),
        (["main", "sync", "--markdown"], "--markdown is for"),
        (["--calibrate", "--json", "--markdown"], "exclude each other"),
        (["--resume", "--calibrate"], "--calibrate was fixed"),
        (["--calibrate", "nowhere"], "no such revision: nowhere"),
    ],
)
def test_what_cannot_be_asked_ends_with_2_and_one_line(
    two: Two, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert two
    assert ciwm(["bench", *arguments]) == 2
    assert words in capsys.readouterr().err
