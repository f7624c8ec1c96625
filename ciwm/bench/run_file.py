"""The run in a file, or in a folder that a bench or a CI job left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.bench.run_directory import FACTORIAL
from ciwm.errors import UsageError
from ciwm.records import Run, read_record

if TYPE_CHECKING:
    from pathlib import Path

_INSIDE = ("run.json", "run/run.json")  # of `ciwm bench`'s folder, and of `ciwm ci`'s


def read_run(path: Path) -> Run:
    """The run of a record, or of a folder that holds one; raises UsageError when there is none."""
    if not path.exists():
        raise UsageError(f"there is no {path}", "ciwm bench BASE HEAD writes a run")
    if not path.is_dir():
        return read_record(path, Run)
    inside = next((path / name for name in _INSIDE if (path / name).is_file()), None)
    if inside is None and (path / FACTORIAL).is_file():
        raise UsageError(
            f"{path} holds a run of four builds: it has no base and head to judge",
            f"ciwm bench --resume {path} tells whose the change is",
        )
    if inside is None:
        raise UsageError(
            f"{path} holds no run.json", "an interrupted bench ends its run with --resume"
        )
    return read_record(inside, Run)
