"""`ciwm bench` as a user and a CI runner meet it: its output, its exit codes, its deaths."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import Run, parse_record, read_record
from tests.fork import git
from tests.need import missing, need

if TYPE_CHECKING:
    from tests.fork import Fork

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
[[workload]]
id = "w"
python = "bench/steps.py:step"
iterations = {iterations}
warmup_iterations = 0
warmup_s = 0
[gate]
max_launches = 4
"""


@dataclass(frozen=True)
class Two:
    """A fork with branches main and sync, ready to be compared."""

    fork: Fork

    @property
    def out(self) -> Path:
        return self.fork.runs / "run"

    def start(self, *arguments: str, out: Path | None = None) -> subprocess.Popen[str]:
        where = [] if "--resume" in arguments else ["--out", str(out or self.out)]
        return subprocess.Popen(
            [sys.executable, "-m", "ciwm", "bench", *arguments, *where],
            cwd=self.fork.path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def two(fork: Fork, monkeypatch: pytest.MonkeyPatch) -> Two:
    fork.commit({"ciwm.toml": CONFIG.format(iterations=5)})
    fork.commit({"framework/new.py": ""}, branch="sync")
    monkeypatch.chdir(fork.path)
    return Two(fork)


def slow(two: Two) -> None:
    """Launches of a second and more, so that a signal meets one; until `hurry`."""
    steps = (
        "import framework, pathlib, time\n"
        f"fast = pathlib.Path({str(two.fork.runs / 'fast')!r}).exists()\n"
        "def step(): time.sleep(0.001 if fast else 0.05)\n"
    )
    two.fork.commit({"bench/steps.py": steps, "ciwm.toml": CONFIG.format(iterations=20)})


def hurry(two: Two) -> None:
    """From now on launches are short."""
    (two.fork.runs / "fast").touch()


def wait_for_launches(out: Path, number: int) -> None:
    began = time.monotonic()
    while len(list(out.glob("launches/*/journal.jsonl"))) < number:
        assert time.monotonic() - began < 60, "no launch began"
        time.sleep(0.02)
    time.sleep(0.3)


def processes_naming(text: str) -> list[str]:
    """Command lines of live processes in which a text occurs, our own left out."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and path.parent.name != str(os.getpid()):
            found.append(line)
    return found


def nothing_left(out: Path) -> bool:
    began = time.monotonic()
    while processes_naming(str(out)):
        if time.monotonic() - began > 20:
            return False
        time.sleep(0.05)
    return True


def test_the_table_names_series_medians_ratio_and_the_next_step(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    code = ciwm(["bench", "main", "sync", "--out", str(two.out), "--seed", "5"])

    shown = capsys.readouterr()
    run = read_record(two.out / "run.json", Run)
    assert code == 0
    assert "base P50" in shown.out
    assert "4+4" in shown.out
    assert f"next: ciwm gate {two.out}" in shown.err
    assert run.plan.seed == 5
    assert run.plan.workloads_from.ref == "sync"


def test_a_folder_that_cannot_be_made_is_told_before_anything_is_built(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    (two.fork.path / "in-the-way").write_text("a file")
    out = two.fork.path / "in-the-way" / "run"
    assert ciwm(["bench", "main", "sync", "--out", str(out)]) == 4
    told = capsys.readouterr().err
    assert told.startswith(f"error: cannot write {out}")
    assert "build" not in told


def test_a_configuration_outside_of_the_repository_is_taken_for_both_sides(
    two: Two, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(CONFIG.format(iterations=7))
    assert ciwm(["bench", "main", "sync", "--config", str(other), "--out", str(two.out)]) == 0
    assert read_record(two.out / "run.json", Run).plan.touched_workloads == ()


def test_json_prints_the_run_and_nothing_else(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    assert ciwm(["bench", "main", "sync", "--out", str(two.out), "--json"]) == 0

    run = parse_record(capsys.readouterr().out, Run, source="stdout")
    assert run == read_record(two.out / "run.json", Run)


def test_a_head_that_does_not_build_ends_with_4_and_shows_why(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = '[build]\ncommand = "test ! -e framework/new.py || cc no-such.c"\n'
    (two.fork.path / "ciwm.toml").write_text(broken + CONFIG.format(iterations=5))

    assert ciwm(["bench", "main", "sync", "--out", str(two.out)]) == 4

    shown = capsys.readouterr()
    assert "head did not build (failed)" in shown.err
    assert "no-such.c" in shown.err
    assert read_record(two.out / "run.json", Run).launches == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["main"], "name two revisions"),
        (["main", "nowhere"], "no such revision: nowhere"),
        (["main", "sync", "-w", "v"], "no workload 'v'"),
        (["main", "sync", "--budget", "soon"], "budget is a time"),
        (["main", "sync", "--resume"], "name none"),
        (["--resume", "--seed", "1"], "--seed was fixed"),
        (["--resume"], "no interrupted run of"),
        (["main", "sync", "--workloads-from", "nowhere"], "no such revision: nowhere"),
    ],
)
def test_what_cannot_be_asked_ends_with_2_and_one_line(
    two: Two, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert two
    assert ciwm(["bench", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_repository_without_workloads_is_told_how_to_add_one(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    (two.fork.path / "ciwm.toml").unlink()

    assert ciwm(["bench", "main", "sync"]) == 2
    assert "no workload is declared" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_cancelled_job_keeps_what_it_measured_and_ends_with_130(
    two: Two, number: signal.Signals
) -> None:
    slow(two)
    child = two.start("main", "sync")
    wait_for_launches(two.out, 2)

    child.send_signal(number)
    _, stderr = child.communicate(timeout=60)

    assert child.returncode == 130
    assert f"next: ciwm bench --resume {two.out}" in stderr
    run = read_record(two.out / "run.json", Run)
    assert [launch.exit for launch in run.launches] == ["ok", "interrupted"]
    assert run.launches[1].samples[0].values
    assert nothing_left(two.out)


def test_a_killed_bench_leaves_its_samples_on_disk_and_is_finished_by_resume(two: Two) -> None:
    slow(two)
    child = two.start("main", "sync")
    wait_for_launches(two.out, 3)

    child.kill()
    child.communicate(timeout=60)

    assert nothing_left(two.out)
    journal = sorted(two.out.glob("launches/*/journal.jsonl"))[2].read_text()
    assert '"kind": "samples"' in journal
    hurry(two)
    again = two.start("--resume", str(two.out))
    stdout, stderr = again.communicate(timeout=120)
    assert again.returncode == 0, stderr
    assert "4+4" in stdout
    run = read_record(two.out / "run.json", Run)
    assert run.complete
    assert [launch.exit for launch in run.launches] == ["ok", "ok", "lost", *["ok"] * 8]
    assert run.launches[2].samples[0].values


def test_resume_without_a_folder_finds_the_last_interrupted_run(
    two: Two, capsys: pytest.CaptureFixture[str]
) -> None:
    slow(two)
    runs = Path(os.environ["CIWM_CACHE_DIR"]) / "runs"
    child = subprocess.Popen(
        [sys.executable, "-m", "ciwm", "bench", "main", "sync"],
        cwd=two.fork.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    began = time.monotonic()
    while not list(runs.glob("*/launches/*/journal.jsonl")):
        assert time.monotonic() - began < 60
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 130

    hurry(two)
    assert ciwm(["bench", "--resume"]) == 0
    (run,) = runs.glob("*/run.json")
    assert read_record(run, Run).complete
    assert str(run.parent) in capsys.readouterr().err


def test_two_benches_on_one_host_never_overlap_in_a_block(two: Two) -> None:
    slow(two)
    hurry(two)
    outs = [two.fork.runs / name for name in ("one", "other")]
    children = [two.start("main", "sync", out=out) for out in outs]
    for child in children:
        _, stderr = child.communicate(timeout=180)
        assert child.returncode == 0, stderr

    spans = sorted(span for out in outs for span in block_spans(out))
    assert len(spans) == 4
    for (_, ended), (began, _) in itertools.pairwise(spans):
        assert began >= ended


def block_spans(out: Path) -> list[tuple[float, float]]:
    """Begin and end of each block in seconds of wall time."""
    run = read_record(out / "run.json", Run)
    blocks = [run.launches[i : i + 4] for i in range(0, len(run.launches), 4)]
    return [
        (block[0].started_at.timestamp(), block[3].started_at.timestamp() + block[3].duration_s)
        for block in blocks
    ]


def test_a_full_disk_is_named_and_what_was_written_stays_readable(two: Two) -> None:
    need("unshare")
    noisy = "def step(): pass\n"
    two.fork.commit({"bench/steps.py": noisy, "ciwm.toml": CONFIG.format(iterations=20000)})
    place = two.fork.runs / "small"
    place.mkdir()
    kept = two.fork.runs / "kept"
    script = (
        f"mount -t tmpfs -o size=2m none {place} && "
        f"{sys.executable} -m ciwm bench main sync --out {place}/run; "
        f"code=$?; mkdir {kept}; cp -r {place}/run/. {kept}; exit $code"
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        cwd=two.fork.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        missing(f"no tmpfs of our own here: {done.stderr}")

    assert done.returncode == 4, done.stderr
    assert f"error: cannot write {place}/run/" in done.stderr
    assert "MiB free" in done.stderr
    read_record(kept / "run.json", Run)
    for result in kept.glob("launches/*/result.json"):
        json.loads(result.read_text())


def test_the_checkout_may_be_dirty_and_stays_so(two: Two) -> None:
    (two.fork.path / "bench" / "steps.py").write_text("broken(")
    before = git(two.fork.path, "status", "--porcelain")

    assert ciwm(["bench", "main", "sync", "--out", str(two.out)]) == 0

    assert git(two.fork.path, "status", "--porcelain") == before
