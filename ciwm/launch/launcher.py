"""Launches that another program starts, on a node of its choice: `srun` of a Slurm site, say.

The folders of the run, the builds and this Python have to be on a file system that the node sees.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from ciwm.errors import ConfigError, LaunchError
from ciwm.proc import stripped_environment
from ciwm.records import Environment, parse_record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ciwm.config import WorkloadConfig

NODE = "node"
PLACEHOLDERS = ("devices", "workload")
_TELL_NODE = 'uname -n > "$0" && exec "$@"'
_DESCRIBE = "from ciwm.devices import describe_host; print(describe_host().to_json())"
_PATIENCE_S = 600.0  # for a node to be free


def launcher_words(workload: WorkloadConfig) -> list[str]:
    """The launcher's own arguments, placeholders filled in; none where there is no launcher.

    Raises ConfigError for a template that no shell could read, or an unknown placeholder.
    """
    known = {"devices": str(workload.devices), "workload": workload.id}
    try:
        words = shlex.split(workload.launcher)
    except ValueError as error:
        raise ConfigError(f"workload {workload.id}: launcher: {error}") from error
    for name in (found for word in words for found in re.findall(r"\{(\w*)\}", word)):
        if name not in known:
            raise ConfigError(
                f"workload {workload.id}: launcher: unknown placeholder {{{name}}}",
                f"there are {', '.join(f'{{{one}}}' for one in PLACEHOLDERS)}",
            )
    return [re.sub(r"\{(\w+)\}", lambda found: known[found[1]], word) for word in words]


def started_by(workload: WorkloadConfig, argv: list[str], folder: Path) -> list[str]:
    """The arguments that start a launch by its launcher, and write down on which node it ran."""
    words = launcher_words(workload)
    if not words:
        return argv
    return [*words, "/bin/sh", "-c", _TELL_NODE, str(folder / NODE), *argv]


def node_of(folder: Path) -> str:
    """The name of the node that a launch ran on; empty where no launcher started it, or nowhere."""
    try:
        return (folder / NODE).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def refuse_mixed(workloads: Sequence[WorkloadConfig]) -> None:
    """Raise ConfigError where only some workloads of a run have a launcher.

    A run tells of one kind of machine.
    """
    without = [one.id for one in workloads if not one.launcher]
    if without and len(without) < len(workloads):
        raise ConfigError(
            f"workload {without[0]} has no launcher, and others have one",
            "give all of them one, or measure them apart: ciwm bench -w ID",
        )


def describe_node(workload: WorkloadConfig) -> Environment:
    """The machine on which the launcher starts things; raises LaunchError when it does not."""
    words = launcher_words(workload)
    try:
        done = subprocess.run(
            [*words, sys.executable, "-c", _DESCRIBE],
            env=stripped_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
    except OSError as error:
        raise LaunchError(f"the launcher {words[0]} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise LaunchError(
            f"the launcher {words[0]} started nothing for {_PATIENCE_S:g} s", "is a node free?"
        ) from error
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:200]
        raise LaunchError(
            f"the launcher {words[0]} ended with {done.returncode}: {said}",
            "try it by hand; this Python and the cache folder must be there on the nodes",
        )
    # a site's launcher may say something of its own before and after
    begin, end = done.stdout.find("{"), done.stdout.rfind("}")
    text = done.stdout[max(begin, 0) : end + 1]
    return parse_record(text, Environment, f"the answer of {words[0]}")
