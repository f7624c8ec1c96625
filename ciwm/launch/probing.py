"""Probing a device: a worker under a given interpreter, its figures, and what it could not do."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.errors import DeviceError
from ciwm.launch.exits import classify, shortened
from ciwm.launch.journal import read_journal
from ciwm.launch.oom import oom_kills
from ciwm.launch.worker_job import DROPPED, ENTER, JOB, JOURNAL
from ciwm.proc import run_logged, stripped_environment
from ciwm.records.probe import ProbeFigure

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

TIMEOUT_S = 300.0
LOG = "log.txt"


class Probed(NamedTuple):
    """What one device could do, what it could not be asked, and the torch that did it."""

    figures: tuple[ProbeFigure, ...]
    unprobed: tuple[str, ...]
    interpreter: str | None
    torch: str | None
    torch_build: str | None


def probe(
    python: str,
    accelerator: int | None,
    variables: Mapping[str, str],
    stop: threading.Event,
    keep_open: Sequence[int] = (),
) -> Probed:
    """Probe the device that a process with these variables sees; some ten seconds.

    Raises DeviceError when the probe itself dies: a card that cannot do this can do nothing.
    """
    with TemporaryDirectory(prefix="ciwm-probe-") as scratch:
        folder = Path(scratch)
        (folder / JOB).write_text('{"kind": "probe"}\n', encoding="utf-8")
        files = ["--job", str(folder / JOB), "--journal", str(folder / JOURNAL)]
        kept = {name: v for name, v in stripped_environment().items() if name not in DROPPED}
        before = oom_kills() or 0
        ended = run_logged(
            [python, str(ENTER), *files],
            log=folder / LOG,
            cwd=folder,
            env={**kept, **variables},
            timeout_s=TIMEOUT_S,
            stop=stop,
            keep_open=keep_open,
        )
        journal = read_journal(folder / JOURNAL)
        killed = (oom_kills() or 0) > before
        verdict = classify(ended, journal, folder / LOG, oom_killed=killed)
        if verdict is not None:
            where = "the CPU" if accelerator is None else f"accelerator {accelerator}"
            raise DeviceError(f"the probe of {where} ended with {verdict.exit}: {verdict.detail}")
        figures, unprobed = _read(folder / JOURNAL, accelerator)
    return Probed(figures, unprobed, journal.interpreter, journal.torch, journal.torch_build)


def _read(path: Path, accelerator: int | None) -> tuple[tuple[ProbeFigure, ...], tuple[str, ...]]:
    lines: list[dict[str, Any]] = [json.loads(line) for line in path.read_bytes().splitlines()]
    figures = tuple(
        ProbeFigure(
            accelerator=accelerator,
            what=line["what"],
            dtype=line["dtype"],
            unit=line["unit"],
            better="lower" if line["unit"] == "s" else "higher",
            median=median(line["values"]),
            values=tuple(line["values"]),
        )
        for line in lines
        if line["kind"] == "probe"
    )
    unprobed = tuple(
        shortened(f"{line['what']}: {line['why']}") for line in lines if line["kind"] == "unprobed"
    )
    return figures, unprobed
