"""What a bot is asked to do, with the commands to begin and to check with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.agent_parts import quoted
from ciwm.report.detail import Detail, name
from ciwm.report.escape import fenced
from ciwm.report.figures import plural

if TYPE_CHECKING:
    from ciwm.records.sync import SyncReport


def tasks_part(report: SyncReport, detail: Detail) -> str:
    """The tasks in order, then the commands."""
    tasks = [*_fork(report), *_patches(report, detail), *_drift(report), *_gate(report)]
    numbered = [f"{index}. {task}" for index, task in enumerate(tasks, start=1)]
    lines = numbered or ["Nothing needs adapting."]
    commands = _commands(report)
    block = ["", fenced("\n".join(commands))] if commands else []
    return "\n".join(["## What to do", "", *lines, *block])


def _fork(report: SyncReport) -> list[str]:
    if report.shape.style != "fork" or not report.behind.commits:
        return []
    conflicts = report.conflicts
    if conflicts is None:
        return ["Merge upstream; no trial merge could be made (see the notes)."]
    tasks = [f"Merge upstream {name(report.upstream.sha)}."]
    if conflicts.count:
        tasks.append(
            f"Resolve {plural(conflicts.count, 'file')} ({plural(conflicts.hunks, 'hunk')}) and "
            "change nothing outside of the conflicts in the merge commit."
        )
    if conflicts.first is not None and conflicts.first.index:  # 0: that is the merge base
        tasks.append(f"Without a conflict it goes up to {name(conflicts.first.clean_up_to)}.")
    return tasks


def _patches(report: SyncReport, detail: Detail) -> list[str]:
    queue = report.patches
    if queue is None:
        return []
    going = [patch for patch in queue.patches if patch.advice == "delete"]
    failing = [patch for patch in queue.patches if patch.advice == "mend"]
    shown = max(1, min(detail.items, 200))
    tasks = []
    if going:
        named = ", ".join(name(patch.name) for patch in going[:shown])
        tasks.append(f"Delete {plural(len(going), 'patch', 'patches')} upstream has: {named}.")
    if failing:
        named = ", ".join(name(patch.name) for patch in failing[:shown])
        tasks.append(f"Mend {plural(len(failing), 'patch', 'patches')}: {named}.")
    return [*tasks, f"Set the pin to {name(queue.target)}."]


def _drift(report: SyncReport) -> list[str]:
    hard = sum(finding.severity == "hard" for finding in report.drift)
    tasks = [f"Adapt {plural(hard, 'use')} of upstream that no longer work."] if hard else []
    if report.surface is not None and any(lane.commits for lane in report.lanes):
        tasks.append(f"Then set the pin to {name(report.upstream.sha)}, once the tests pass.")
    return tasks


def _gate(report: SyncReport) -> list[str]:
    over = report.gate.over if report.gate else ()
    return [f"Bring back within its limit: {quoted(line)}" for line in over[:20]]


def _commands(report: SyncReport) -> list[str]:
    if report.shape.style == "fork" and report.behind.commits:
        return [
            f"git checkout -b sync-{report.upstream.sha[:12]} {report.downstream.sha}",
            f"git merge --no-ff {report.upstream.sha}",
            "# resolve, git add, then: git commit (never squash: the ancestry would be lost)",
            f"ciwm sync-report {report.upstream.sha}",
        ]
    has_pin = report.patches is not None or any(lane.commits for lane in report.lanes)
    if has_pin:
        return [f"ciwm sync-report {report.upstream.sha}"]
    return []
