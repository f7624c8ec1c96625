"""A map job: its subjects one after the other, each with its own time limit and its own end.

The controller starts a fresh process for what is left after a crash, so nothing is lost with one.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import Any, Dict, Mapping

from ..journal import Journal
from ..problem import full_text, one_line, reason_of
from .stages import observer

TIMED_OUT = 124


def run(job: Mapping[str, Any], journal: Journal) -> None:
    """Observe every subject of the job; what a subject throws is its problem, and written down."""
    observe = observer(job["stage"])
    common = {key: value for key, value in job.items() if key != "subjects"}
    before = list(sys.path)
    for subject in job["subjects"]:
        sys.argv = [subject["file"] or "ciwm-map"]
        sys.path[:] = before + [entry for entry in subject["path"] if entry not in before]
        _one(observe, {**common, **subject}, journal)
        _reset()


def _one(observe: Any, job: Dict[str, Any], journal: Journal) -> None:
    name = job["subject"]

    def emit(line: Dict[str, Any]) -> None:
        journal.write("observed", subject=name, data=line)

    journal.write("subject", subject=name)
    watchdog = threading.Timer(job["timeout_s"], _give_up, (name, job["timeout_s"], journal))
    watchdog.daemon = True
    watchdog.start()
    try:
        observe(job, emit)
    except BaseException as error:  # noqa: BLE001  whatever a workload can throw is a line
        text, message = full_text(error), one_line(error, os.path.dirname(job["file"]))
        reason = reason_of(error)
        error.__traceback__ = None
        journal.write("problem", subject=name, reason=reason, message=message)
        sys.stderr.write(text)
    finally:
        watchdog.cancel()
    journal.write("observed_all", subject=name)


def _give_up(name: str, timeout_s: float, journal: Journal) -> None:
    """The subject hangs: say so, where it hangs, and end; the controller goes on with the rest."""
    for number, frame in sys._current_frames().items():  # noqa: SLF001  there is no other way
        if number == threading.main_thread().ident:
            sys.stderr.write("".join(traceback.format_stack(frame)))
    sys.stderr.flush()
    message = f"killed after its time limit ({timeout_s:g} s)"
    journal.write("problem", subject=name, reason="timeout", message=message)
    os._exit(TIMED_OUT)


def _reset() -> None:
    """Undo what a workload may have set for the whole process."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
