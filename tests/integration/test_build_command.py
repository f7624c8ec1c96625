"""`ciwm build` and `ciwm clean` as their users meet them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ciwm import cli
from ciwm.errors import ENVIRONMENT, INTERRUPTED, OK, USAGE
from ciwm.launch import cache
from tests.git_folder import GitFolder

ROOT = Path(__file__).parents[2]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitFolder:
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))
    folder = GitFolder.make(tmp_path / "repo")
    folder.commit({"a.txt": "one\n", "ciwm.toml": '[build]\ncommand = "echo hello; cat a.txt"\n'})
    (folder.path / "deep").mkdir()
    monkeypatch.chdir(folder.path / "deep")  # the configuration is found from below, too
    return folder


def answer(capfd: Capture) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def test_a_build_shows_its_log_on_stderr_and_where_it_is_on_stdout(
    repo: GitFolder, capfd: Capture
) -> None:
    assert cli.run(["build", "HEAD"]) == OK
    shown = capfd.readouterr()
    assert "hello\none\n" in shown.err
    folder = next(x.split()[1] for x in shown.out.splitlines() if x.startswith("folder:"))
    assert (Path(folder) / "a.txt").read_text() == "one\n"
    assert shown.out.startswith(f"built: HEAD ({repo.git('rev-parse', 'HEAD')[:12]})")
    assert cli.run(["build", "main"]) == OK
    assert capfd.readouterr().out.startswith("cached: main")


def test_json_is_the_record_and_nothing_else(repo: GitFolder, capfd: Capture) -> None:
    assert cli.run(["build", "HEAD", "--json"]) == OK
    record = answer(capfd)
    assert (record["status"], record["revision"]["sha"]) == ("built", repo.git("rev-parse", "HEAD"))
    assert cli.run(["build", "HEAD", "--json", "--fresh"]) == OK
    assert answer(capfd)["status"] == "built"


def test_a_failed_build_ends_with_4_and_shows_its_last_lines(
    repo: GitFolder, capfd: Capture
) -> None:
    (repo.path / "ciwm.toml").write_text('[build]\ncommand = "echo oops; exit 3"\n')
    assert cli.run(["build", "HEAD"]) == ENVIRONMENT
    shown = capfd.readouterr()
    assert "failed: HEAD" in shown.err
    assert "exit code 3" in shown.err
    assert "  | oops" in shown.err
    assert cli.run(["build", "HEAD", "--json"]) == ENVIRONMENT
    assert answer(capfd)["log_tail"][-1] == "oops"


def test_another_configuration_may_be_named(
    repo: GitFolder, tmp_path: Path, capfd: Capture
) -> None:
    (tmp_path / "other.toml").write_text('[build]\ncommand = "echo other"\n')
    assert cli.run(["build", "HEAD", "--config", str(tmp_path / "other.toml")]) == OK
    assert "\nother\n" in capfd.readouterr().err
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["build", "absent"], USAGE, "no such revision: absent"),
        (["build", "--", "--help"], USAGE, "no such revision: --help"),
        (["build"], USAGE, "Missing argument"),
        (["build", "HEAD", "--config", "absent.toml"], USAGE, "cannot read absent.toml"),
        (["-C", "/", "build", "HEAD"], ENVIRONMENT, "not inside a git repository"),
        (["clean", "--older-than", "7"], USAGE, "'7' is not a number with a unit"),
        (["clean", "--max-size", "20GB/s"], USAGE, "is not a number with a unit"),
    ],
)
@pytest.mark.usefixtures("repo")
def test_what_cannot_be_done_is_one_clear_line(
    arguments: list[str], code: int, words: str, capfd: Capture
) -> None:
    assert cli.run(arguments) == code
    assert words in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_cancelled_build_ends_with_130_and_leaves_nothing_running(
    repo: GitFolder, number: signal.Signals
) -> None:
    recipe = '[build]\ncommand = "echo $$; sleep 600 & setsid sleep 600 & wait"\n'
    (repo.path / "ciwm.toml").write_text(recipe)
    process = subprocess.Popen(
        [sys.executable, "-m", "ciwm", "build", "HEAD"],
        cwd=repo.path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    pid = next(line.strip() for line in process.stderr if line.strip().isdigit())
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert "interrupted: HEAD" in err
    assert not Path(f"/proc/{pid}").exists()


def entries(*names: str, kind: cache.Kind = "builds") -> list[Path]:
    made = []
    for number, name in enumerate(names):
        path = cache.kind_directory(kind) / name
        path.mkdir()
        (path / "data").write_bytes(os.urandom(1 << 20))
        (path / cache.RECORD).touch()
        used = time.time() - (len(names) - number) * 86400
        os.utime(path, (used, used))
        made.append(path)
    return made


@pytest.mark.usefixtures("repo")
def test_clean_removes_all_builds_and_no_run(capfd: Capture) -> None:
    builds, runs = entries("a", "b"), entries("r", kind="runs")
    assert cli.run(["clean", "--json"]) == OK
    told = answer(capfd)
    assert [gone["name"] for gone in told["removed"]] == ["a", "b"]
    assert told["freed_bytes"] >= 2 << 20
    assert 1 << 20 <= told["left_bytes"] < 2 << 20  # the run
    assert not any(path.exists() for path in builds)
    assert all(path.exists() for path in runs)


@pytest.mark.usefixtures("repo")
def test_a_dry_run_of_clean_tells_what_the_whole_cache_would_be_left_with(capfd: Capture) -> None:
    entries("a", "b"), entries("r", kind="runs")
    assert cli.run(["clean", "--dry-run"]) == OK
    last = capfd.readouterr().out.splitlines()[-1]
    assert last.startswith("2.0 MiB would be freed, 1.0 MiB left in ")


@pytest.mark.usefixtures("repo")
def test_clean_removes_runs_when_asked_and_then_no_build(capfd: Capture) -> None:
    builds, runs = entries("a"), entries("r", kind="runs")
    assert cli.run(["clean", "--runs"]) == OK
    assert "removed runs/r (1.0 MiB)" in capfd.readouterr().out
    assert builds[0].exists()
    assert not runs[0].exists()


@pytest.mark.usefixtures("repo")
def test_clean_knows_everything_that_sync_reports_keep(capfd: Capture) -> None:
    kept = [entries("s", kind="scans")[0], entries("r", kind="replays")[0]]
    root = cache.cache_root()
    indexes, shelf = root / "drift", root / "pulls" / "api.github.com+acme+engine"
    for folder in (indexes, shelf):
        folder.mkdir(parents=True)
    (indexes / "0123.json.gz").write_bytes(os.urandom(1 << 16))
    (shelf / "of-jane.json").write_bytes(os.urandom(1 << 16))
    build, day = entries("a")[0], time.time() - 86400
    os.utime(indexes / "0123.json.gz", (day, day))
    assert cli.run(["clean", "--reports", "--older-than", "12h", "--dry-run"]) == OK
    assert "would remove drift/0123.json.gz (64.0 KiB)" in capfd.readouterr().out
    assert cli.run(["clean", "--reports", "--json"]) == OK
    told = answer(capfd)
    assert {gone["kind"] for gone in told["removed"]} == {"scans", "replays", "drift", "pulls"}
    assert told["kept"] == []
    assert 1 << 20 <= told["left_bytes"] < 2 << 20  # the build
    assert not any(path.exists() for path in (*kept, shelf, indexes / "0123.json.gz"))
    assert list((root / "trash").iterdir()) == []
    assert build.exists()


@pytest.mark.usefixtures("repo")
def test_clean_by_age_and_by_size(capfd: Capture) -> None:
    oldest, middle, newest = entries("a", "b", "c")
    assert cli.run(["clean", "--older-than", "60h", "--dry-run"]) == OK
    assert "would remove builds/a" in capfd.readouterr().out
    assert oldest.exists()
    assert cli.run(["clean", "--older-than", "60h"]) == OK
    assert (oldest.exists(), middle.exists(), newest.exists()) == (False, True, True)
    assert cli.run(["clean", "--max-size", "1.5MiB"]) == OK
    assert (middle.exists(), newest.exists()) == (False, True)


@pytest.mark.usefixtures("repo")
def test_clean_names_what_is_in_use(capfd: Capture) -> None:
    [path] = entries("a")
    lock = cache.entry_lock("builds", "a")
    assert lock.take(shared=True)
    assert cli.run(["clean"]) == OK
    assert "kept builds/a: in use" in capfd.readouterr().out
    lock.release()
    assert path.exists()


@pytest.mark.usefixtures("repo")
def test_a_build_may_be_cleaned_once_its_command_has_ended(capfd: Capture) -> None:
    assert cli.run(["build", "HEAD"]) == OK
    assert len(cache.entries("builds")) == 1
    assert cli.run(["clean"]) == OK
    assert "removed builds/" in capfd.readouterr().out
    assert cache.entries("builds") == []
