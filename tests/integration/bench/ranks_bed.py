"""One build, this interpreter's, whose launches a test runs one by one."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from ciwm.launch.worker_job import Order, Site
from ciwm.launch.worker_process import Limits, run_launch
from ciwm.records import BuildRecord
from tests.runs import REVISIONS

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.config import WorkloadConfig
    from ciwm.records import Launch


class Bed:
    """A folder with workload files, and the folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "workloads"
        (folder / "build").mkdir()
        self.sources.mkdir()
        build = BuildRecord(
            revision=REVISIONS["head"],
            key="k",
            status="built",
            duration_s=0,
            exit_code=0,
            directory=str(folder / "build"),
            python=sys.executable,
            log="",
        )
        self.site = Site(
            directory=folder / "run",
            checkout=folder / "checkout",
            builds={"base": build, "head": build},
            sources={"base": self.sources, "head": self.sources},
            python_path=(".",),
        )

    def launch(self, one: WorkloadConfig, limits: Limits | None = None) -> Launch:
        order = Order(number=1, workload=one, side="head", block=0, attempt=0, position=0)
        limits = limits or Limits(left_s=120, stop=threading.Event())
        return run_launch(order, self.site, limits)[0]
