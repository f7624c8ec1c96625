"""The smaller parts of a bump's comment: builds, stages, the machine, how to repeat it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ciwm.error_line import error_line
from ciwm.report.bump_answer import stopped_stages
from ciwm.report.detail import METHOD_LIMIT, Detail, clipped, folded, name, words
from ciwm.report.escape import fenced
from ciwm.report.figures import duration, plural
from ciwm.report.headline import stage_words
from ciwm.report.trust import trust_fact

if TYPE_CHECKING:
    from ciwm.records import BuildRecord, BumpReport, Environment, Revision, Stage, Verdict

_LOG_LINE_LIMIT = 400
_STAGES = 12  # twice what there are; more come from no ciwm
_BUILDS = 4
_MACHINES = 8
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./=+-]{0,199}")
_SAFE_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:/[A-Za-z0-9._~%-]*)*")


def broken_builds(report: BumpReport, detail: Detail) -> str:
    """Each build that failed, with the last lines of its log in the open."""
    parts = [
        _broken_build(side, build, detail) for side, build in sided_builds(report) if not build.ok
    ]
    return "\n\n".join(["#### Build", *parts]) if parts else ""


def sided_builds(report: BumpReport) -> list[tuple[str, BuildRecord]]:
    """Each build with its side: by its sha where that tells them apart, else by the order."""
    sides = ("base", "head")
    named = {
        revision.sha: side
        for side, revision in (("head", report.head), ("base", report.base))
        if revision is not None
    }
    if len(named) == 1 and len(report.builds) > 1:  # a revision against itself
        named = {}
    return [
        (named.get(build.revision.sha, sides[min(index, 1)]), build)
        for index, build in enumerate(report.builds[:_BUILDS])
    ]


def _broken_build(side: str, build: BuildRecord, detail: Detail) -> str:
    ended = {"timeout": "ran out of time", "interrupted": "was interrupted"}
    code = f", exit code {build.exit_code}" if build.exit_code is not None else ""
    told = (
        f"❌ **{side}** ({_revision(build.revision)}) "
        f"{ended.get(build.status, 'did not build')} after {duration(build.duration_s)}{code}."
    )
    tail = build.log_tail[-detail.log_lines :]
    if not tail:
        return f"{told} Its log is empty."
    first = error_line(build.log_tail)
    if not any(first in line for line in tail):  # what went wrong is worth a line of the few
        tail = (first, "[...]", *tail[2:])
    lines = "\n".join(clipped(line, _LOG_LINE_LIMIT) for line in tail)
    return f"{told} Last lines of its log:\n\n{fenced(lines)}"


def stages_part(report: BumpReport) -> str:
    """Steps that failed or were interrupted, each with its mend."""
    told = [_stopped(stage) for stage in stopped_stages(report)[:_STAGES]]
    return "\n".join(["#### Steps that failed", "", *told]) if told else ""


def _stopped(stage: Stage) -> str:
    kept = (stage.name, stage.status) != ("store", "failed")
    mark, aside = ("❌", "") if kept else ("⚠️", " (does not block)")
    title = stage_words(stage.name)
    also = f" ({title})" if title != stage.name else ""
    ended = "was interrupted" if stage.status == "interrupted" else "failed"
    mend = f" — {words(stage.hint)}" if stage.hint else ""
    return (
        f"- {mark} **{stage.name}**{also} {ended} after {duration(stage.duration_s)}{aside}: "
        f"{words(stage.message) or 'it left no message'}{mend}"
    )


def details_part(report: BumpReport) -> str:
    """Folded: what was compared and where, how long each stage took, how to repeat it."""
    facts = [
        trust_fact(report),
        _compared(report),
        _built(report),
        f"Measured: {words(report.run_summary)}." if report.run_summary else "",
        *_machines(report),
        *(_method(report.verdict) if report.verdict else []),
        _times(report),
    ]
    listed = "\n".join(f"- {fact}" for fact in facts if fact)
    return folded("How this was measured, and how to reproduce it", listed, _repeat(report))


def link(report: BumpReport) -> str:
    """The last line: the run and its files, and who says this."""
    parts = [f"ciwm {words(report.ciwm_version, 20)}"]
    url = safe_url(report.run_url or "")
    if url:
        parts[:0] = [f"[Run and logs]({url})", f"[full report]({url}#artifacts)"]
    return f"<sub>{' · '.join(parts)}</sub>"


def safe_url(text: str) -> str:
    """An address that can stand in a link as it is; empty for any other text."""
    return text if len(text) < _LOG_LINE_LIMIT and _SAFE_URL.fullmatch(text) else ""


def _revision(revision: Revision) -> str:
    return f"{name(revision.ref)} at {name(revision.sha[:12])}"


def _compared(report: BumpReport) -> str:
    if report.base is None or report.head is None:
        return ""
    return f"Compared: head {_revision(report.head)} with base {_revision(report.base)}."


def _built(report: BumpReport) -> str:
    told = [
        f"{side} {'taken from the cache' if build.status == 'cached' else build.status}"
        f" ({duration(build.duration_s)})"
        for side, build in sided_builds(report)
    ]
    return f"Builds: {', '.join(told)}." if told else ""


def _machines(report: BumpReport) -> list[str]:
    told = [
        f"Machine of {name(one.shard)}: {_machine(one.environment)}"
        for one in report.environment_by_shard[:_MACHINES]
    ]
    more = len(report.environment_by_shard) - len(told)
    if more:
        told.append(f"… and {plural(more, 'more machine')}.")
    return [f"Machine: {_machine(report.environment)}", *told] if report.environment else told


def _machine(environment: Environment) -> str:
    cards: dict[str, int] = {}
    for card in environment.accelerators:
        cards[card.name] = cards.get(card.name, 0) + 1
    parts = [
        *(f"{number} × {words(card, 60)}" for card, number in list(cards.items())[:4]),
        f"{words(environment.cpu_model, 80)} ({environment.cpu_count} usable)",
        words(environment.os, 60),
    ]
    if environment.torch:
        parts.append(f"torch {words(environment.torch, 40)}")
    return f"{', '.join(parts)}; fingerprint {name(environment.fingerprint)}."


def _method(verdict: Verdict) -> list[str]:
    if not verdict.series:
        return []
    benchmarks = plural(verdict.family_size, "benchmark")
    return [
        f"Verdict: {words(verdict.reason)}.",
        f"Rule: at most {100 * verdict.alpha:g}% false alarms over {benchmarks}.",
        f"Interval: {words(verdict.interval_method, METHOD_LIMIT)}.",
    ]


def _times(report: BumpReport) -> str:
    told = [
        f"{stage.name} {duration(stage.duration_s)}"
        for stage in report.stages[:_STAGES]
        if stage.status != "skipped"
    ]
    skipped = [
        f"{stage.name} ({words(stage.message)})" if stage.message else stage.name
        for stage in report.stages[:_STAGES]
        if stage.status == "skipped"
    ]
    if skipped:
        told.append(f"skipped: {', '.join(skipped)}")
    return f"Stages: {', '.join(told)}." if told else ""


def _repeat(report: BumpReport) -> str:
    """The exact commands; one with an argument that might be an option or more is left out."""
    shas = [one.sha for one in (report.base, report.head) if one is not None]
    commands: list[list[str]] = []
    if shas:
        commands.append(["git fetch origin", *shas])
        if report.head is not None:  # what follows reads the checkout's ciwm.toml
            commands.append(["git checkout --detach", report.head.sha])
    if report.sync is not None:
        commands.append(["ciwm sync-report", report.sync.upstream.ref])
    if len(shas) > 1 and report.builds:
        commands.append(["ciwm bench", *shas])
    plain = [" ".join(command) for command in commands if all(map(_PLAIN.fullmatch, command[1:]))]
    if not plain:
        return ""
    where = f"In a checkout of the repository, with ciwm {words(report.ciwm_version, 20)}"
    return f"{where}:\n\n{fenced(chr(10).join(plain), 'sh')}"
