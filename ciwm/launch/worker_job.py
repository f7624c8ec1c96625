"""What a launch is started with: its command, its job file and its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.config_ranks import has_rendezvous
from ciwm.launch.collectives import COLLECTIVE, parameters
from ciwm.launch.command import script
from ciwm.launch.command_words import argument_words, runs_module
from ciwm.launch.launcher import started_by
from ciwm.launch.series import (
    COMPILE,
    FIRST_STEP,
    ONCE,
    SECONDS_IN,
    STEP_TIME,
    cases,
    made_of_times,
    once_scales,
)
from ciwm.launch.workloads import python_entry
from ciwm.proc import stripped_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ciwm.config import WorkloadConfig
    from ciwm.records import BuildRecord, Side

ENTER = Path(__file__).resolve().parent.parent / "worker" / "enter.py"
DROPPED = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONSAFEPATH",
    "PYTHONINSPECT",
    "VIRTUAL_ENV",
)
# CUDA's own order is by speed: where cards differ, its numbers would be others than NVML's, by
# which cards are locked and watched
NUMBERED = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
COMPILED = "compiled"
JOB, JOURNAL = "job.json", "journal.jsonl"


@dataclass(frozen=True)
class Site:
    """What all launches of a run share: the run's folder, both builds, the workloads' files.

    `sources` holds a copy of the workload files for each side, so that what a launch leaves there
    never reaches the other side. `batches` are the calls that made a sample in the first launch of
    a series: the others time as many.
    """

    directory: Path
    checkout: Path
    builds: Mapping[Side, BuildRecord]
    sources: Mapping[Side, Path]
    python_path: tuple[str, ...]
    batches: dict[str, int] = field(default_factory=dict)

    def keep_batches(self, found: Mapping[str, int]) -> None:
        """Take those of a launch that ended well, of series that had none."""
        self.batches.update({**found, **self.batches})


@dataclass(frozen=True)
class Order:
    """One launch of the plan; `cards` are the indices of the accelerators it has to itself."""

    number: int
    workload: WorkloadConfig
    side: Side
    block: int
    attempt: int
    position: int
    cards: tuple[int, ...] = ()

    @property
    def folder(self) -> str:
        """Where its files are, below the run's folder."""
        return f"launches/{self.number:04d}-{self.workload.id}-{self.side}"


def command(order: Order, site: Site, folder: Path) -> list[str]:
    """The arguments of a launch's process, whose files are in `folder`."""
    return started_by(order.workload, _command(order, site, folder), folder)


def _command(order: Order, site: Site, folder: Path) -> list[str]:
    build = site.builds[order.side]
    if order.workload.command is None:
        files = ["--job", str(folder / JOB), "--journal", str(folder / JOURNAL)]
        return [build.python, *_torchrun(order.workload), str(ENTER), *files]
    values = {
        "build": build.directory,
        "python": build.python,
        "workloads": str(site.sources[order.side]),
    }
    return ["/bin/sh", "-ec", script(order.workload, values, folder)]


def _torchrun(workload: WorkloadConfig) -> list[str]:
    """What starts one process a rank, of the build's own torch; nothing for a single one.

    On one node they meet on the loopback interface, whatever this host's name resolves to.
    """
    if workload.ranks == 1:
        return []
    alone = [] if has_rendezvous(workload.torchrun) else ["--standalone", "--local-addr=127.0.0.1"]
    ranks = f"--nproc-per-node={workload.devices}"
    return ["-m", "torch.distributed.run", *alone, *workload.torchrun, ranks]


def job(order: Order, site: Site) -> dict[str, Any]:
    """The job file: what the worker reads; a command is written down as it is run."""
    workload = order.workload
    if workload.command is not None:
        folder = site.directory / order.folder
        return {"kind": "command", "argv": command(order, site, folder)}
    source = site.sources[order.side]
    metrics = workload.declared_metrics
    timed = STEP_TIME in metrics or bool(made_of_times(workload))
    return {
        "kind": "bench",
        "side": order.side,
        "ranks": workload.ranks,
        **_entry(workload, source),
        "build": site.builds[order.side].directory,
        "own": [site.builds[order.side].directory, str(source)],
        "foreign": _foreign(order.side, site),
        "series": [
            {
                "series": case.series,
                "params": parameters(workload, case.params),
                "batch_before": site.batches.get(case.series, 0),
            }
            for case in cases(workload)
        ],
        "schedule": {
            "iterations": workload.iterations,
            "warmup_iterations": workload.warmup_iterations,
            "warmup_s": workload.warmup_s,
            "time_metric": STEP_TIME if timed else None,
            "time_scale": SECONDS_IN[time_unit(workload)],
            "reported": reported(workload),
            "warmup_max_s": workload.warmup_max_s,
            "batch": workload.batch or 0,
            "flush_cache": workload.flush_cache,
            "once": once_scales(workload),
        },
    }


def time_unit(workload: WorkloadConfig) -> str:
    """The unit that times are written down in; seconds where only what is made of them counts."""
    metric = workload.declared_metrics.get(STEP_TIME)
    return "s" if metric is None else metric.unit


def reported(workload: WorkloadConfig) -> list[str]:
    """The metrics that a step itself returns: neither its time nor made of that."""
    made = made_of_times(workload)
    return [name for name in workload.declared_metrics if name not in (STEP_TIME, *ONCE, *made)]


def _entry(workload: WorkloadConfig, source: Path) -> dict[str, Any]:
    """The file with the callable, and where it finds its own modules."""
    if workload.collective is not None:
        return {"file": str(COLLECTIVE), "callable": "Collective.step", "path": []}
    file, name = python_entry(workload)
    return {
        "file": str(source / file),
        "callable": name,
        "path": [str((source / file).parent)],
    }


def _foreign(side: Side, site: Site) -> dict[str, str]:
    """Folders this side must load nothing from."""
    other: Side = "head" if side == "base" else "base"
    own, others = site.builds[side].directory, site.builds[other].directory
    folders = {} if own == others else {others: f"the {other} build"}
    return {**folders, str(site.checkout): "the checkout that ciwm was started in"}


def environment(order: Order, site: Site) -> dict[str, str]:
    """The environment of a launch: no secrets, and Python paths of this side's build first.

    An inherited PYTHONPATH is dropped: in CI it often names the checkout, which is head's. A
    Python told `-m` puts its folder first, which holds the same files for both sides; there it is
    told not to (3.11 and newer), and finds them after the build.
    """
    kept = {name: value for name, value in stripped_environment().items() if name not in DROPPED}
    build = site.builds[order.side]
    entries = [os.path.normpath(Path(build.directory, entry)) for entry in site.python_path]
    line = order.workload.command
    if order.workload.ranks > 1:  # or torchrun's `-m` looks into the workload's folder first
        kept["PYTHONSAFEPATH"] = "1"
    if line is not None and runs_module(line):
        kept["PYTHONSAFEPATH"] = "1"
        entries += _script_folders(line, site.sources[order.side])
    kept["PYTHONPATH"] = os.pathsep.join(entries)
    return {**kept, **NUMBERED, **activated(build.python, kept), **_cold_caches(order, site)}


def _cold_caches(order: Order, site: Site) -> dict[str, str]:
    """Where a compilation is measured, caches that hold none yet; else one launch alone has one."""
    metrics = order.workload.declared_metrics
    if order.workload.command is not None or metrics.keys().isdisjoint((FIRST_STEP, COMPILE)):
        return {}
    folder = site.directory / order.folder / COMPILED
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "VLLM_DISABLE_COMPILE_CACHE": "1",
    }


def _script_folders(line: str, source: Path) -> Iterator[str]:
    """Where the workload's own files find each other, once the folder of a script is not looked in.

    `-m torch.distributed.run bench/train.py` starts that script with the same variables.
    """
    scripts = [source / word for word in argument_words(line) if word.endswith(".py")]
    folders = [source, *(script.parent for script in scripts if script.is_file())]
    return (str(folder) for folder in dict.fromkeys(folders))


def activated(interpreter: str, variables: Mapping[str, str]) -> dict[str, str]:
    """What makes a build's interpreter the `python` of a launch, its venv the active one."""
    python = Path(interpreter)
    if not python.is_absolute():
        return {}
    path = os.pathsep.join([str(python.parent), variables.get("PATH", os.defpath)])
    is_venv = (python.parent.parent / "pyvenv.cfg").is_file()
    return {"PATH": path, **({"VIRTUAL_ENV": str(python.parent.parent)} if is_venv else {})}
