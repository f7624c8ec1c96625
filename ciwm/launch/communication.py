"""The share of communication in a workload of several ranks: a launch that is profiled, not timed.

Its files are beside those of the launches, in `profiles/`, and it counts for nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ciwm.credentials import masker
from ciwm.errors import LaunchError
from ciwm.launch.exits import classify, shortened
from ciwm.launch.files import make_folder, write_atomically
from ciwm.launch.oom import oom_kills
from ciwm.launch.ranks import joined, journal_names, read_journals
from ciwm.launch.series import cases
from ciwm.launch.worker_job import JOB, Order, Site, command, environment, job
from ciwm.launch.worker_process import LOG, SPENT, Limits
from ciwm.proc import run_logged
from ciwm.records.ranks import CommunicationProfile, RankCommunication

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ciwm.config import WorkloadConfig
    from ciwm.records import Side


@dataclass(frozen=True)
class ProfileOrder(Order):
    """A launch that is profiled: it has no place in a block; `who` is its side, or its build."""

    who: str = ""

    @property
    def folder(self) -> str:
        """Where its files are, below the run's folder."""
        return f"profiles/{self.workload.id}-{self.who}"


def profile_order(workload: WorkloadConfig, side: Side, who: str = "") -> ProfileOrder:
    """The profiled launch of a side; `who` names it where several builds are on one side."""
    return ProfileOrder(
        number=0, workload=workload, side=side, block=0, attempt=0, position=0, who=who or side
    )


def profile(order: ProfileOrder, site: Site, limits: Limits) -> tuple[CommunicationProfile, ...]:
    """One record a series; what keeps it from being measured is said there, and never an error."""
    folder = site.directory / order.folder
    try:
        make_folder(folder)
        problem = _launched(order, site, limits, folder)
        lines = [_lines(folder / name) for name in journal_names(order.workload.ranks)]
    except (OSError, LaunchError) as error:
        return unprofiled(order, shortened(str(error)))
    return tuple(_profile(case.series, order, lines, problem) for case in cases(order.workload))


def unprofiled(order: ProfileOrder, why: str) -> tuple[CommunicationProfile, ...]:
    """The records of a launch that was not made, or of which nothing came."""
    workload, side = order.workload, order.side
    return tuple(
        CommunicationProfile(series=case.series, workload=workload.id, side=side, problem=why)
        for case in cases(workload)
    )


def _launched(order: Order, site: Site, limits: Limits, folder: Path) -> str:
    """Run it; why it did not end well, or nothing."""
    described = {**job(order, site), "kind": "communication"}
    write_atomically(folder / JOB, json.dumps(described, indent=1) + "\n")
    before = oom_kills() or 0
    ended = run_logged(
        command(order, site, folder),
        log=folder / LOG,
        cwd=site.sources[order.side],
        env={**environment(order, site), **limits.variables},
        timeout_s=min(order.workload.timeout_s, limits.left_s),
        stop=limits.stop,
        keep_open=limits.keep_open,
    )
    journal = joined(read_journals(folder, order.workload.ranks), order.workload, folder / LOG)
    killed = (oom_kills() or 0) > before
    verdict = classify(ended, journal, folder / LOG, oom_killed=killed)
    if verdict is None:
        return ""
    if verdict.exit == "timeout" and limits.left_s < order.workload.timeout_s:
        return SPENT
    return masker()(f"{verdict.exit}: {verdict.detail}")


def _lines(journal: Path) -> list[dict[str, Any]]:
    """What a rank wrote of its profile; nothing where it wrote nothing that can be read."""
    try:
        data = journal.read_bytes()
    except FileNotFoundError:
        return []
    return [line for line in map(_line, data.splitlines()) if line.get("kind") in _KINDS]


_KINDS = ("profile", "unprofiled")


def _line(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _profile(
    series: str, order: Order, ranks: list[list[dict[str, Any]]], problem: str
) -> CommunicationProfile:
    """What the ranks say of a series together: figures of all of them, or why there are none."""
    about = {"series": series, "workload": order.workload.id, "side": order.side}
    own = [next((one for one in lines if _is_of(one, series)), None) for lines in ranks]
    said = [shortened(str(one["why"])) for one in own if one is not None and one.get("why")]
    missing = [str(rank) for rank, one in enumerate(own) if one is None]
    if problem or said or missing:
        silent = f"rank {', '.join(missing)} wrote nothing of it" if missing else ""
        return CommunicationProfile.model_validate(
            {**about, "problem": problem or "; ".join(dict.fromkeys(said)) or silent}
        )
    try:
        return CommunicationProfile.model_validate(
            {**about, "device": str(_first(own)["device"]), "ranks": tuple(_figures(own))}
        )
    except (KeyError, TypeError, ValueError):
        return CommunicationProfile.model_validate(
            {**about, "problem": "a rank's journal is damaged"}
        )


def _is_of(line: dict[str, Any], series: str) -> bool:
    return line["kind"] == "unprofiled" or line.get("series") == series


def _first(own: list[dict[str, Any] | None]) -> dict[str, Any]:
    return next(one for one in own if one is not None)


def _figures(own: list[dict[str, Any] | None]) -> Iterator[RankCommunication]:
    for rank, one in enumerate(own):
        fields = {name: (one or {})[name] for name in ("steps", "step_s", "total_s", "exposed_s")}
        yield RankCommunication.model_validate({"rank": rank, **fields})
