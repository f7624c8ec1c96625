"""The one line that says what happened: the comment's first, the check's title, the terminal's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.figures import change, harm, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import BuildRecord, SeriesVerdict, Stage, SyncReport, Verdict
    from ciwm.records.verdict import SeriesOutcome

_NAME_LIMIT = 80
_SAID: dict[SeriesOutcome, str] = {
    "failed": "failed to run",
    "missing": "went missing",
    "regressed": "regressed",
    "void": "could not be compared",
    "inconclusive": "could not be decided",
}


def headline(
    stages: Sequence[Stage],
    builds: Sequence[BuildRecord],
    sync: SyncReport | None,
    verdict: Verdict | None,
) -> str:
    """What happened in one line of plain text: the worst news first, then what the sync costs.

    `builds` are base's and head's, in this order. Whoever puts the line into Markdown escapes it.
    """
    broken = _builds(builds)
    # what fails to run because it was never built needs no second mention
    parts = (broken, _stopped(stages), "" if broken else _judged(verdict), _sync_cost(sync))
    line = "; ".join(part for part in parts if part) or "nothing was compared"
    return line[0].upper() + line[1:]


def short(name: str, limit: int = _NAME_LIMIT) -> str:
    """A name cut to so many characters, with an ellipsis where it was cut."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def rows_of(verdict: Verdict, outcome: SeriesOutcome) -> list[SeriesVerdict]:
    """The series of one outcome, the largest change for the worse first."""
    rows = [row for row in verdict.series if row.outcome == outcome]
    return sorted(rows, key=harm, reverse=True)


def _builds(builds: Sequence[BuildRecord]) -> str:
    broken = [build for build in builds if not build.ok]
    if not broken:
        return ""
    if len(broken) > 1:
        return "neither base nor head builds"
    if len(builds) > 1:
        side = "base" if broken[0] is builds[0] else "head"
    else:
        side = short(broken[0].revision.ref)
    ended = {"timeout": "ran out of time while building", "interrupted": "was interrupted building"}
    return f"{side} {ended.get(broken[0].status, 'does not build')}"


def _stopped(stages: Sequence[Stage]) -> str:
    """Stages that did not finish; a build that failed is told by the build itself."""
    words = {"failed": "failed", "interrupted": "was interrupted"}
    return ", ".join(
        f"{stage.name} {words[stage.status]}"
        for stage in stages
        if stage.status in words and (stage.name, stage.status) != ("build", "failed")
    )


def _judged(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    if not verdict.series:
        return "no benchmark was compared"
    told = [
        _counted(rows, len(verdict.series), words)
        for outcome, words in _SAID.items()
        if (rows := rows_of(verdict, outcome))
    ]
    return ", ".join(told) or _fine(verdict)


def _counted(rows: list[SeriesVerdict], total: int, words: str) -> str:
    worst = rows[0]
    name = short(f"{worst.series} {worst.metric}")
    if worst.outcome == "regressed" and worst.ratio:
        words = "got slower" if all(_is_speed(row.unit) for row in rows) else "got worse"
        name = f"{name} {change(worst.ratio)}"
        if len(rows) == 1:
            return f"1 of {plural(total, 'benchmark')} {words}: {name}"
        return f"{len(rows)} of {plural(total, 'benchmark')} {words}, the worst {name}"
    if len(rows) == 1:
        return f"1 of {plural(total, 'benchmark')} {words}: {name}"
    return f"{len(rows)} of {plural(total, 'benchmark')} {words}"


def _is_speed(unit: str) -> bool:
    """Whether "slower" is the right word: a time, or something per second."""
    return unit in ("s", "ms", "us", "µs", "ns", "min", "h") or unit.endswith("/s")


def _fine(verdict: Verdict) -> str:
    counts = {name: len(rows_of(verdict, name)) for name in ("improved", "waived", "new")}
    compared = len(verdict.series) - counts["new"]
    if not compared:
        return f"{plural(counts['new'], 'benchmark')} measured for the first time"
    asides = [
        f"{counts[name]} {words}"
        for name, words in (("improved", "faster"), ("waived", "waived"), ("new", "new"))
        if counts[name]
    ]
    line = f"no slowdown in {plural(compared, 'benchmark')}"
    return f"{line} ({', '.join(asides)})" if asides else line


def _sync_cost(sync: SyncReport | None) -> str:
    if sync is None:
        return ""
    upstream = short(sync.upstream.ref)
    if sync.behind.commits == 0:
        return f"up to date with {upstream}"
    if sync.conflicts is None:
        return f"{plural(sync.behind.commits, 'commit')} behind {upstream}, conflicts unknown"
    if sync.conflicts.count:
        return f"a sync with {upstream} conflicts in {plural(sync.conflicts.count, 'file')}"
    return f"a sync with {upstream} has no conflicts"
