"""How a launch ended, in one word and one line."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.launch.journal import Journal
    from ciwm.proc import Ended
    from ciwm.records.run import ExitReason

TAIL_BYTES = 16_384
DETAIL_CHARACTERS = 300
_SHELL_SIGNAL = 128
_CRASH_LINE = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>\S+)')
_TORCHRUN = re.compile(r"^[WE]\d{4} .* torch/distributed/elastic/", re.MULTILINE)


@dataclass(frozen=True)
class Verdict:
    """The exit reason, and why, on one line."""

    exit: ExitReason
    detail: str = ""


def classify(ended: Ended, journal: Journal, log: Path, *, oom_killed: bool) -> Verdict | None:
    """Why a launch is not ok; None when its process ended well and its samples are to be judged."""
    if ended.end == "interrupted":
        return Verdict("interrupted", f"stopped after {ended.duration_s:.1f} s")
    if journal.death is not None:
        rank, status = journal.death
        verdict = _from_status(status, log, oom_killed=oom_killed)
        # the last words in the log of all ranks are those of another one, which misses this one
        told = f"exit status {status}" if verdict.exit == "failed" else verdict.detail
        return Verdict(verdict.exit, shortened(f"rank {rank}: {told}"))
    if journal.error is not None:
        reason, message = journal.error
        return Verdict(_reason(reason), shortened(message))
    if ended.end == "timeout":
        return Verdict("timeout", f"killed after {ended.duration_s:.1f} s: its time was over")
    if ended.status == 0:
        return None
    return _from_status(ended.status, log, oom_killed=oom_killed)


def _from_status(status: int, log: Path, *, oom_killed: bool) -> Verdict:
    text = _own_words(log_tail(log))
    number = -status if status < 0 else status - _SHELL_SIGNAL
    name = _signal_name(number)
    if oom_killed:
        return Verdict("oom", "the kernel killed it for memory (oom_kill of its cgroup)")
    if name == "SIGKILL":
        return Verdict("oom", "killed by SIGKILL, which ciwm did not send: out of memory, likely")
    if name and "std::bad_alloc" in text:
        return Verdict("oom", "std::bad_alloc: out of memory")
    if name:
        return Verdict("signal", shortened(f"{name}{_crash_place(text)}"))
    words = last_line(text)
    return Verdict("failed", shortened(f"exit status {status}" + (f": {words}" if words else "")))


def _reason(reason: str) -> ExitReason:
    return "oom" if reason == "oom" else "invalid" if reason == "invalid" else "failed"


def _signal_name(number: int) -> str:
    """SIGSEGV for 11; empty when that is no signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _crash_place(text: str) -> str:
    """Where Python's fault handler says the crash was."""
    found = _CRASH_LINE.search(text[max(text.rfind("(most recent call first)"), 0) :])
    if found is None or "(most recent call first)" not in text:
        return ""
    return f" in {found['name']}, {found['file'].rpartition('/')[2]}:{found['line']}"


def _own_words(text: str) -> str:
    """A log without what torchrun adds once its ranks have ended; its table is no error line."""
    return _TORCHRUN.split(text, maxsplit=1)[0] or text


def log_tail(log: Path) -> str:
    """The end of a log; bytes that are not UTF-8 are replaced."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(file.tell() - TAIL_BYTES, 0))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def last_line(text: str) -> str:
    """The last line of a text that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def shortened(text: str) -> str:
    """One printable line of bounded length."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    words = " ".join(plain.split())
    return words if len(words) <= DETAIL_CHARACTERS else words[: DETAIL_CHARACTERS - 3] + "..."
