"""Asking a worker under a given interpreter something about its device, once, with no workload."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ciwm.errors import DeviceError
from ciwm.launch.exits import classify
from ciwm.launch.journal import Journal, read_journal
from ciwm.launch.oom import oom_kills
from ciwm.launch.worker_job import DROPPED, ENTER, JOB, JOURNAL, NUMBERED
from ciwm.proc import run_logged, stripped_environment

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

TIMEOUT_S = 300.0
LOG = "log.txt"


class Answer(NamedTuple):
    """All lines that the worker wrote, and what they come to."""

    lines: tuple[dict[str, Any], ...]
    journal: Journal


def ask(
    python: str,
    kind: Literal["probe", "devices"],
    variables: Mapping[str, str],
    stop: threading.Event | None = None,
    keep_open: Sequence[int] = (),
) -> Answer:
    """Have a worker do a job that needs nothing; raises DeviceError when it dies of it."""
    with TemporaryDirectory(prefix=f"ciwm-{kind}-") as scratch:
        folder = Path(scratch)
        (folder / JOB).write_text(json.dumps({"kind": kind}) + "\n", encoding="utf-8")
        files = ["--job", str(folder / JOB), "--journal", str(folder / JOURNAL)]
        kept = {name: v for name, v in stripped_environment().items() if name not in DROPPED}
        before = oom_kills() or 0
        try:
            ended = run_logged(
                [python, str(ENTER), *files],
                log=folder / LOG,
                cwd=folder,
                env={**kept, **NUMBERED, **variables},
                timeout_s=TIMEOUT_S,
                stop=stop,
                keep_open=keep_open,
            )
        except OSError as error:
            raise DeviceError(
                f"cannot start {python}: {error.strerror or error}",
                "name an interpreter that has the torch to ask",
            ) from error
        journal = read_journal(folder / JOURNAL)
        killed = (oom_kills() or 0) > before
        verdict = classify(ended, journal, folder / LOG, oom_killed=killed)
        if verdict is not None:
            raise DeviceError(f"it ended with {verdict.exit}: {verdict.detail}")
        text = (folder / JOURNAL).read_bytes() if (folder / JOURNAL).exists() else b""
    return Answer(tuple(json.loads(line) for line in text.splitlines()), journal)
