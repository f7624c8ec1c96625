"""The one line that says what happened: the comment's first, the check's title, the terminal's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.records.bump import NOT_ASKED
from ciwm.records.labels import MARK
from ciwm.report.changes import as_decided, seen
from ciwm.report.figures import harm, natural, plural
from ciwm.report.sync_cost import brought_in

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
_STAGES = {"bench": "the benchmark", "gate": "the verdict", "store": "saving results"}
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
    """What happened in one line of plain text; where the merge is blocked, only what blocks it.

    `builds` are base's and head's, in this order. Whoever puts the line into Markdown escapes it.
    """
    broken, stopped = _builds(builds), _stopped(stages, sync)
    # what fails to run because it was never built needs no second mention
    judged = "" if broken else _judged(verdict)
    if verdict is None and not broken and not stopped and map_diff is None:
        judged = _unmeasured(stages)
    news = [broken, coverage_words(map_diff), judged, stopped]
    blocked = blocks(stages, builds, verdict, map_diff)
    if blocked and (map_diff is None or not map_diff.blocks):
        news[1] = ""  # in the line of what does not block
    if stopped and (verdict is None or verdict.outcome != "fail"):
        news = [stopped, *news[:3]]
    parts = (
        "; ".join(filter(None, news)),
        "" if blocked else brought_in(sync, sync_base),
    )
    line = ". ".join(part for part in parts if part)
    return line[0].upper() + line[1:] if line else "Nothing was measured"


def blocks(
    stages: Sequence[Stage],
    builds: Sequence[BuildRecord],
    verdict: Verdict | None,
    map_diff: MapDiff | None,
) -> bool:
    """Whether what was built, measured or mapped blocks, or a stage that counts did not finish."""
    return (
        bool(_stopped(stages))
        or (bool(builds) and not builds[-1].ok)
        or (verdict is not None and verdict.outcome == "fail")
        or (map_diff is not None and map_diff.blocks)
    )


def doubtful_rows(verdict: Verdict) -> list[SeriesVerdict]:
    """The series without a clear answer, void ones first."""
    return [row for outcome in _DOUBTFUL for row in rows_of(verdict, outcome)]


def _unmeasured(stages: Sequence[Stage]) -> str:
    """That no benchmark ran, and why where it is known."""
    for stage in stages:
        if stage.name == "bench" and stage.status == "skipped":
            asked = stage.message == NOT_ASKED
            return f"no benchmark ran ({'not asked for' if asked else 'none is configured'})"
    return "no benchmark ran"


def stage_words(name: str) -> str:
    """A stage as whoever only reads the comment knows it."""
    return _STAGES.get(name, name)


def short(name: str, limit: int = _NAME_LIMIT) -> str:
    """A name cut to so many characters, with an ellipsis where it was cut."""
    return name if len(name) <= limit else name[: limit - 1] + "…"


def rows_of(verdict: Verdict, outcome: SeriesOutcome) -> list[SeriesVerdict]:
    """The series of one outcome, the largest change for the worse first."""
    rows = [as_decided(row) for row in verdict.series if row.outcome == outcome]
    return sorted(rows, key=lambda row: (-harm(row), natural(row.series)))


def coverage_words(diff: MapDiff | None) -> str:
    """What the map lost, the first of it by name; what a map may say is short."""
    if diff is None:
        return ""
    lost = [change for change in diff.changes if change.lost]
    if not lost and diff.void:
        return f"the workload map is void ({short(diff.void)})"
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


def _stopped(stages: Sequence[Stage], sync: SyncReport | None = None) -> str:
    """Stages that did not finish and count.

    A build that failed is told by the build itself; results that could not be kept do not block.
    """
    words = {"failed": "failed", "interrupted": "was interrupted"}
    over = sync is not None and sync.gate is not None and not sync.gate.ok
    said = (
        "the cost of syncing is over its budget"
        if over and (stage.name, stage.status) == ("sync", "failed")
        else f"{stage_words(stage.name)} {words[stage.status]}{_why(stage)}"
        for stage in stages
        if stage.status in words
        and (stage.name, stage.status) not in (("build", "failed"), ("store", "failed"))
    )
    return ", ".join(dict.fromkeys(said))  # of a matrix several shards may be missing


def _why(stage: Stage) -> str:
    """Why there is no sync cost: its reason is one line, and nothing else tells it."""
    told = (stage.name, stage.status) == ("sync", "failed") and stage.message
    return f" ({short(stage.message, 120)})" if told else ""


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
    label = row.series.partition(MARK)[2]
    where = f" on {short(label)}" if label else ""
    told: dict[SeriesOutcome, str] = {
        "regressed": f"head's build takes too long{where}",
        "inconclusive": f"whether head's build takes too long{where} is not known",
        "waived": f"head's build takes longer{where}, which is waived",
    }
    size = f" ({seen(row)})" if row.outcome != "inconclusive" and seen(row) else ""
    return f"{told[row.outcome]}{size}" if row.outcome in told else ""


def _measured(verdict: Verdict) -> str:
    if not verdict.series:
        return "no benchmark was compared"
    kinds = [rows for outcome in _BLOCKING if (rows := rows_of(verdict, outcome))]
    doubtful = [] if kinds and verdict.outcome == "fail" else doubtful_rows(verdict)
    if not kinds and not doubtful:
        return _fine(verdict)
    total = plural(len(verdict.series), "benchmark")
    unclear = f"{len(doubtful)} of {total} gave no clear answer{_example(doubtful)}"
    parts = [_bad(kinds, total) if kinds else "", unclear if doubtful else ""]
    return "; ".join(filter(None, parts))


def _bad(kinds: list[list[SeriesVerdict]], total: str) -> str:
    """How many are bad and in which ways, each way counted where there are more than one."""
    count = sum(map(len, kinds))
    if len(kinds) == 1:
        rows = kinds[0]
        return f"{count} of {total} {_words(rows)}{_size(rows) or _example(rows)}"
    told = [f"{_words(rows)} ({len(rows)}{_worst(rows)})" for rows in kinds]
    return f"{count} of {total} {', '.join(told[:-1])} or {told[-1]}"


def _words(rows: list[SeriesVerdict]) -> str:
    """What became of these."""
    if rows[0].outcome == "regressed" and not all(_is_speed(row.unit) for row in rows):
        return "got worse"
    return _BLOCKING[rows[0].outcome]


def _size(rows: list[SeriesVerdict]) -> str:
    """The largest change of these and whose it is, in brackets; empty where none was measured."""
    if rows[0].outcome != "regressed" or not seen(rows[0]):
        return ""
    first = "worst: " if len(rows) > 1 else ""
    return f" ({first}{_named(rows[0])} {seen(rows[0])})"


def _worst(rows: list[SeriesVerdict]) -> str:
    if rows[0].outcome != "regressed" or not seen(rows[0]):
        return ""
    first = ", worst: " if len(rows) > 1 else ": "
    return f"{first}{_named(rows[0])} {seen(rows[0])}"


def _example(rows: list[SeriesVerdict]) -> str:
    return f" ({_named(rows[0])})" if len(rows) == 1 else ""


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
