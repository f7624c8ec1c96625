"""Calibrations on disk: the one to start from, and the new one kept beside the runs."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ciwm.bench.host import measured_host
from ciwm.errors import NotFetchedError, StoreError
from ciwm.launch.files import write_atomically
from ciwm.policy.audit import Audit, audit
from ciwm.policy.calibration import calibrate
from ciwm.policy.first_guess import latest
from ciwm.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ciwm.config import Config
    from ciwm.git import Repository
    from ciwm.records import Calibration, Run

FILE = "calibration.json"


def known_calibration(
    repository: Repository, config: Config, python: str, say: Callable[[str], None]
) -> Calibration | None:
    """The newest calibration of this machine; a store that cannot be read is said, not fatal.

    `python` is head's interpreter, whose torch may have to say what the machine is.
    """
    try:
        kept = tuple(open_store(config.store.url, repository).calibrations())
        if not kept:
            return None
        found = latest(kept, measured_host(config, python, say).fingerprint)
    except NotFetchedError:
        say("never calibrated here, as far as this clone knows (optional: ciwm bench --calibrate)")
        return None
    except StoreError as error:
        say(f"no calibration of this machine: {error.message}")
        return None
    if found is not None:
        say(f"noise as calibrated on {found.at:%Y-%m-%d} ({found.revision.sha[:12]})")
    return found


def kept_calibration(
    run: Run, config: Config, repository: Repository, directory: Path, say: Callable[[str], None]
) -> tuple[Calibration, Audit]:
    """Calibrate by a run of one revision against itself, and keep the result in the store.

    It is written beside the run first: a store that refuses (StoreError) loses nothing.
    """
    found = calibrate(run, config.gate, datetime.now(timezone.utc), say)
    write_atomically(directory / FILE, found.to_json())
    store = open_store(config.store.url, repository)
    try:
        path = store.add_calibration(found)
        others = audit(store.calibrations())
    except StoreError as error:
        say(f"not kept: {error.message}; it is in {directory / FILE}")
        return found, audit([found])
    say(f"kept as {path} in {config.store.url}")
    return found, others
