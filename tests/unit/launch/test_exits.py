from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.launch.exits import classify, shortened
from ciwm.launch.journal import Journal
from ciwm.proc import Ended

if TYPE_CHECKING:
    from pathlib import Path

FAULT = """Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/w/bench/steps.py", line 12 in step
  File "/ciwm/worker/clock.py", line 9 in time
"""


def log(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("status", "text", "kills", "ending"),
    [
        (-11, FAULT, 0, ("signal", "SIGSEGV in step, steps.py:12")),
        (139, "", 0, ("signal", "SIGSEGV")),
        (-9, "", 1, ("oom", "the kernel killed it for memory (oom_kill of its cgroup)")),
        (137, "", 1, ("oom", "the kernel killed it for memory (oom_kill of its cgroup)")),
        (1, "worker 3 died\n", 1, ("oom", "the kernel killed it for memory (oom_kill of")),
        (-6, "terminate called: 'std::bad_alloc'\n", 0, ("oom", "std::bad_alloc")),
        (2, "usage: x\n\nerror: no such option \x1b[31m--json\x1b[0m\n\n", 0, ("failed", "exit")),
        (3, "", 0, ("failed", "exit status 3")),
        (255, "x", 0, ("failed", "exit status 255: x")),
    ],
)
def test_a_status_and_a_log_make_a_reason_and_a_line(
    tmp_path: Path, status: int, text: str, kills: int, ending: tuple[str, str]
) -> None:
    ended = Ended(status, 1.0, "exited", 0)

    found = classify(ended, Journal(), log(tmp_path, text), oom_killed=kills > 0)

    assert found is not None
    assert found.exit == ending[0]
    assert found.detail.startswith(ending[1])
    assert found.detail.isprintable()


def test_what_the_worker_said_explains_more_than_the_signal_that_followed(tmp_path: Path) -> None:
    journal = Journal(error=("oom", "MemoryError (steps.py:3 in step)"))
    ended = Ended(-15, 9.0, "timeout", 0)

    found = classify(ended, journal, log(tmp_path, ""), oom_killed=False)

    assert found is not None
    assert (found.exit, found.detail) == ("oom", "MemoryError (steps.py:3 in step)")


def test_a_launch_we_stopped_is_never_held_against_the_workload(tmp_path: Path) -> None:
    journal = Journal(error=("failed", "KeyboardInterrupt"))
    ended = Ended(-15, 2.0, "interrupted", 0)

    found = classify(ended, journal, log(tmp_path, ""), oom_killed=True)

    assert found is not None
    assert found.exit == "interrupted"


def test_a_long_message_is_cut_to_one_line() -> None:
    text = shortened("a\n" * 1000)
    assert len(text) == 300
    assert text.endswith("...")


def test_a_rank_that_died_is_not_blamed_for_the_words_of_another(tmp_path: Path) -> None:
    ended = Ended(1, 9.0, "exited", 0)
    text = "RuntimeError: Read error [127.0.0.1]: Connection reset by peer\n"

    found = classify(ended, Journal(death=(1, 3)), log(tmp_path, text), oom_killed=False)

    assert found is not None
    assert (found.exit, found.detail) == ("failed", "rank 1: exit status 3")


def test_a_limit_is_not_said_to_be_what_the_launch_took(tmp_path: Path) -> None:
    """It ignored SIGTERM, and was given the grace of five seconds beyond its four."""
    found = classify(Ended(-9, 8.9, "timeout", 0), Journal(), tmp_path, oom_killed=False)

    assert found is not None
    assert (found.exit, found.detail) == ("timeout", "killed after 8.9 s: its time was over")
