"""The one line that says what happened: the comment's first, the check's title, the terminal's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.report.bump_kind import upstream_commits
from ciwm.report.changes import as_decided, seen
from ciwm.report.figures import harm, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import BuildRecord, SeriesVerdict, Stage, SyncReport, Verdict
    from ciwm.records.opmap_diff import MapDiff
    from ciwm.records.verdict import SeriesOutcome

_NAME_LIMIT = 80
_BLOCKING: dict[SeriesOutcome, str] = {
    "failed": "failed to run",
    "missing": "went missing",
    "regressed": "got slower",
}
# stages whose names say little to whoever only reads the comment
_STAGES = {"bench": "the benchmark", "gate": "the verdict", "store": "keeping the history"}
_DOUBTFUL: tuple[SeriesOutcome, ...] = ("void", "inconclusive")


def headline(
    stages: Sequence[Stage],
    builds: Sequence[BuildRecord],
    sync: SyncReport | None,
    verdict: Verdict | None,
    sync_base: SyncReport | None = None,
    *,
    map_diff: MapDiff | None = None,
) -> str:
    """What happened in one line of plain text: the worst news first, then what the sync costs.

    `builds` are base's and head's, in this order. Whoever puts the line into Markdown escapes it.
    """
    broken, stopped = _builds(builds), _stopped(stages)
    # what fails to run because it was never built needs no second mention
    judged = "" if broken else _judged(verdict)
    if verdict is None and not broken and not stopped and map_diff is None:
        judged = "no benchmark ran"
    parts = (
        "; ".join(part for part in (broken, _coverage(map_diff), judged, stopped) if part),
        _sync_cost(sync, sync_base),
    )
    line = ". ".join(part for part in parts if part)
    return line[0].upper() + line[1:]


def short(name: str, limit: int = _NAME_LIMIT) -> str:
    """A name cut to so many characters, with an ellipsis where it was cut."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def rows_of(verdict: Verdict, outcome: SeriesOutcome) -> list[SeriesVerdict]:
    """The series of one outcome, the largest change for the worse first."""
    rows = [as_decided(row) for row in verdict.series if row.outcome == outcome]
    return sorted(rows, key=harm, reverse=True)


def _coverage(diff: MapDiff | None) -> str:
    """What the map lost, the first of it by name; what a map may say is short."""
    if diff is None:
        return ""
    lost = [change for change in diff.changes if change.lost]
    if not lost:
        return "no loss in the workload map"
    since = f", since {diff.since}" if diff.since else ""
    fallbacks = [change for change in lost if change.kind == "fallback new"]
    if fallbacks:
        told = (
            f"{plural(len(fallbacks), 'new CPU fallback')}: {short(fallbacks[0].sentence)}{since}"
        )
        others = len(lost) - len(fallbacks)
        return f"{told}, and {plural(others, 'other loss')}" if others else told
    return f"{plural(len(lost), 'loss')} in the workload map ({short(lost[0].sentence)}){since}"


def _builds(builds: Sequence[BuildRecord]) -> str:
    broken = [build for build in builds if not build.ok]
    if not broken:
        return ""
    if len(broken) > 1:
        return "neither base nor head builds"
    if len(builds) > 1:
        side = "base" if broken[0] is builds[0] else "head"
    else:
        side = f"revision {short(broken[0].revision.ref)}"
    ended = {"timeout": "ran out of time while building", "interrupted": "was interrupted building"}
    return f"{side} {ended.get(broken[0].status, 'does not build')}"


def _stopped(stages: Sequence[Stage]) -> str:
    """Stages that did not finish; a build that failed is told by the build itself."""
    words = {"failed": "failed", "interrupted": "was interrupted"}
    return ", ".join(
        f"{_STAGES.get(stage.name, stage.name)} {words[stage.status]}"
        for stage in stages
        if stage.status in words and (stage.name, stage.status) != ("build", "failed")
    )


def _judged(verdict: Verdict | None) -> str:
    if verdict is None:
        return ""
    built = [row for row in verdict.series if row.of_build]
    rest = tuple(row for row in verdict.series if not row.of_build)
    measured = _measured(verdict.model_copy(update={"series": rest}))
    if built and not rest:
        measured = "no benchmark ran"
    parts = [measured, *map(_built, built)]
    blocks = any(row.outcome in _BLOCKING for row in rest)
    if not blocks and any(row.outcome == "regressed" for row in built):
        parts.reverse()  # the worst news first
    return "; ".join(filter(None, parts))


def _built(row: SeriesVerdict) -> str:
    """What became of the time that head's build took; nothing where it is within its limits."""
    told: dict[SeriesOutcome, str] = {
        "regressed": "head's build takes too long",
        "inconclusive": "whether head's build takes too long is not known",
        "waived": "head's build takes longer, which is waived",
    }
    size = f" ({seen(row)})" if row.outcome != "inconclusive" and seen(row) else ""
    return f"{told[row.outcome]}{size}" if row.outcome in told else ""


def _measured(verdict: Verdict) -> str:
    if not verdict.series:
        return "no benchmark was compared"
    told = [
        (rows, _words(outcome, rows))
        for outcome in _BLOCKING
        if (rows := rows_of(verdict, outcome))
    ]
    doubtful = [row for outcome in _DOUBTFUL for row in rows_of(verdict, outcome)]
    if doubtful:
        told.append((doubtful, "gave no clear answer"))
    if not told:
        return _fine(verdict)
    total = plural(len(verdict.series), "benchmark")
    if len(told) > 1:
        return f"of {total}, {', '.join(f'{len(rows)} {words}' for rows, words in told)}"
    rows, words = told[0]
    example = "" if len(rows) > 1 or "(" in words else f" ({_named(rows[0])})"
    return f"{len(rows)} of {total} {words}{example}"


def _words(outcome: SeriesOutcome, rows: list[SeriesVerdict]) -> str:
    """What became of these, the largest change beside it."""
    worst = rows[0]
    if outcome != "regressed" or not seen(worst):
        return _BLOCKING[outcome]
    words = "got slower" if all(_is_speed(row.unit) for row in rows) else "got worse"
    first = "worst: " if len(rows) > 1 else ""
    return f"{words} ({first}{_named(worst)} {seen(worst)})"


def _named(row: SeriesVerdict) -> str:
    return short(f"{row.series} {row.metric}")


def _is_speed(unit: str) -> bool:
    """Whether "slower" is the right word: a time, or something per second."""
    return unit in ("s", "ms", "us", "µs", "ns", "min", "h") or unit.endswith("/s")


def _fine(verdict: Verdict) -> str:
    counts = {name: len(rows_of(verdict, name)) for name in ("improved", "waived", "new")}
    compared = len(verdict.series) - counts["new"] - counts["waived"]
    waived = f"{counts['waived']} slower and waived" if counts["waived"] else ""
    if not compared:
        first = f"{plural(counts['new'], 'benchmark')} measured for the first time"
        return ", ".join(part for part in (first if counts["new"] else "", waived) if part)
    asides = [
        f"{counts[name]} {words}"
        for name, words in (("improved", "faster"), ("new", "new"))
        if counts[name]
    ]
    line = f"no slowdown in {plural(compared, 'benchmark')}"
    line += f" ({', '.join(asides)})" if asides else ""
    return f"{line}, {waived}" if waived else line


def _sync_cost(sync: SyncReport | None, base: SyncReport | None) -> str:
    if sync is None:
        return ""
    return _pin_cost(sync, base) if sync.surface is not None else _merge_cost(sync, base)


def _merge_cost(sync: SyncReport, base: SyncReport | None) -> str:
    if brought := upstream_commits(sync, base):
        return f"Brings in {plural(brought, 'upstream commit')}{_faced(base)}"
    if sync.behind.commits == 0:
        return "Up to date with upstream"
    if sync.conflicts is None:
        behind = plural(sync.behind.commits, "commit")
        return f"The next upstream sync: {behind}, conflicts unknown"
    if sync.conflicts.count:
        return f"The next upstream sync: conflicts in {plural(sync.conflicts.count, 'file')}"
    return "The next upstream sync: no conflicts"


def _pin_cost(sync: SyncReport, base: SyncReport | None) -> str:
    """What moving a plugin's pin breaks, as far as reading the sources shows."""
    brought = upstream_commits(sync, base)
    if not brought and not sync.behind.commits:
        return "Up to date with upstream"
    found = base if brought and base is not None else sync
    hard = sum(one.severity == "hard" for one in found.drift)
    broken = plural(hard, "thing") if hard else "nothing that shows"
    verb = "break" if brought else "breaks"
    what = f"Brings in {plural(brought, 'upstream commit')}, which" if brought else "The next pin"
    return f"{what} {verb} {broken} of what the plugin uses"


def _faced(base: SyncReport | None) -> str:
    """What the merge had to resolve, as git sees it from base."""
    if base is None or base.conflicts is None:
        return ""
    if not base.conflicts.count:
        return " without conflicts"
    return f", conflicts in {plural(base.conflicts.count, 'file')} resolved"
