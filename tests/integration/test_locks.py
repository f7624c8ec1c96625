"""One job on a card: over processes, users and killed holders."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ciwm.errors import DeviceError
from ciwm.launch import locks
from ciwm.launch.flock import Flock
from ciwm.launch.locks import card_lock, lock_directory
from tests.need import missing

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys
from ciwm.launch.locks import card_lock
with card_lock(sys.argv[1], timeout_s=0, on_wait=print):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CIWM_LOCK_DIR", str(tmp_path / "locks"))
    return tmp_path / "locks"


def holder(identifier: str, **variables: str) -> subprocess.Popen[str]:
    """Another process that holds a card until its stdin is closed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, identifier],
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def ignore(_line: str) -> None:
    pass


def test_a_card_held_by_another_process_is_busy_and_its_holder_named() -> None:
    other = holder("GPU-1", GITHUB_REPOSITORY="acme/fork", GITHUB_JOB="bench", GITHUB_RUN_ID="77")
    seen: list[str] = []
    with (
        pytest.raises(DeviceError, match="GPU-1 is busy") as raised,
        card_lock("GPU-1", timeout_s=0.1, on_wait=seen.append),
    ):
        pass
    assert f"pid {other.pid} on " in raised.value.message
    assert seen == [f"waiting for GPU-1: held by {raised.value.message.split('held by ')[1]}"]
    assert re.search(r"acme/fork bench run 77$", seen[0])
    other.communicate("")


def test_other_cards_are_free_meanwhile() -> None:
    other = holder("GPU-1")
    with (
        card_lock("GPU-2", timeout_s=0, on_wait=ignore),
        card_lock("cpu", timeout_s=0, on_wait=ignore),
    ):
        pass
    other.communicate("")


def test_the_lock_is_free_at_once_when_its_holder_is_killed() -> None:
    other = holder("GPU-1")
    other.kill()
    other.communicate()
    with card_lock("GPU-1", timeout_s=0, on_wait=ignore) as descriptor:
        assert os.fstat(descriptor)


def test_a_waiting_job_gets_the_card_when_it_is_given_back() -> None:
    other = holder("GPU-1")
    seen: list[str] = []

    def give_back(line: str) -> None:
        seen.append(line)
        other.communicate("")

    with card_lock("GPU-1", timeout_s=None, on_wait=give_back):
        assert len(seen) == 1


def test_a_stopped_job_does_not_wait() -> None:
    other = holder("GPU-1")
    stop = threading.Event()
    with (
        pytest.raises(DeviceError, match="busy"),
        card_lock("GPU-1", timeout_s=None, on_wait=lambda _line: stop.set(), stop=stop),
    ):
        pass
    other.communicate("")


def test_a_child_that_keeps_the_descriptor_keeps_the_card() -> None:
    with card_lock("GPU-1", timeout_s=0, on_wait=ignore) as descriptor:
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[descriptor])
    with pytest.raises(DeviceError), card_lock("GPU-1", timeout_s=0, on_wait=ignore):
        pass
    child.communicate()
    with card_lock("GPU-1", timeout_s=0, on_wait=ignore):
        pass


def test_a_name_with_slashes_stays_in_the_folder(folder: Path) -> None:
    with card_lock("../../MIG-GPU-1/3/0", timeout_s=0, on_wait=ignore):
        name = ".._.._MIG-GPU-1_3_0"
        assert {path.name for path in folder.iterdir()} == {f"{name}.lock", f"{name}.next.lock"}


def test_a_link_in_the_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    (tmp_path / "precious").write_text("data")
    (folder / "cpu.lock").symlink_to(tmp_path / "precious")
    with (
        pytest.raises(DeviceError, match="cannot lock"),
        card_lock("cpu", timeout_s=0, on_wait=ignore),
    ):
        pass
    assert (tmp_path / "precious").read_text() == "data"


def test_every_user_may_use_the_folder_and_the_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CIWM_LOCK_DIR")
    before = os.umask(0o077)
    try:
        with card_lock("test-card", timeout_s=0, on_wait=ignore):
            path = lock_directory() / "test-card.lock"
            assert path.stat().st_mode & 0o666 == 0o666
            if path.parent.stat().st_uid == os.getuid():
                assert path.parent.stat().st_mode & 0o1777 == 0o1777
    finally:
        os.umask(before)
        path.unlink()


def test_the_folder_does_not_depend_on_tmpdir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CIWM_LOCK_DIR")
    first = lock_directory()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert lock_directory() == first
    assert first.parent in locks.CANDIDATES


def test_another_user_can_lock_what_we_have_locked_before() -> None:
    if os.getuid() != 0:
        missing("becoming another user needs root")
    program = (
        "import fcntl, os, socket, sys; from pathlib import Path;"
        "from ciwm.launch.flock import Flock; os.setgroups([]); os.setgid(65534); os.setuid(65534);"
        "print(Flock(Path(sys.argv[1]), 0o666).take(timeout_s=0))"
    )
    # a folder that user can reach: pytest's own is closed to others
    open_to_all = Path("/tmp") / f"ciwm-test-{os.getpid()}"
    open_to_all.mkdir(mode=0o755)
    open_to_all.chmod(0o1777)
    lock = Flock(open_to_all / "x.lock", 0o666)
    try:
        assert lock.take(timeout_s=0)
        lock.release()
        done = subprocess.run(
            [sys.executable, "-c", program, str(lock.path)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "True"
    finally:
        lock.path.unlink()
        open_to_all.rmdir()


def test_who_gives_a_card_back_waits_behind_who_waited(folder: Path) -> None:
    hold = (
        "import sys, time\n"
        "from ciwm.launch.locks import card_lock\n"
        "for _ in range(4):\n"
        "    with card_lock('GPU-1', timeout_s=60, on_wait=lambda line: None):\n"
        "        print(sys.argv[1], flush=True)\n"
        "        time.sleep(0.5)\n"
    )
    log = folder.parent / "turns"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("ab") as sink:
        jobs = [
            subprocess.Popen([sys.executable, "-c", hold, name], stdout=sink, env=environment)
            for name in ("one", "other")
        ]
    assert [job.wait(60) for job in jobs] == [0, 0]
    turns = log.read_text().split()
    both = turns[turns.index("other" if turns[0] == "one" else "one") - 1 :][:6]
    # once both want the card, neither has it twice in a row
    assert all(before != after for before, after in itertools.pairwise(both)), turns
