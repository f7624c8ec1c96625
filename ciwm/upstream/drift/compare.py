"""All comparisons of one pin with the target, and their findings as records."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from ciwm.records.sync_drift import Finding, UpstreamChange
from ciwm.upstream.drift.blame import BUDGET_S, Blame, Blamer, Commit, file_steps
from ciwm.upstream.drift.bodies import Bodies
from ciwm.upstream.drift.calls import call_changes
from ciwm.upstream.drift.index import no_collection
from ciwm.upstream.drift.operators import operator_changes
from ciwm.upstream.drift.outcome import Found
from ciwm.upstream.drift.overrides import deleted_overrides, override_changes
from ciwm.upstream.drift.pair import Worlds
from ciwm.upstream.drift.patches import patch_changes
from ciwm.upstream.drift.registrations import entry_point_changes, registration_changes
from ciwm.upstream.drift.removals import removals
from ciwm.upstream.drift.tree import GitTree
from ciwm.upstream.drift.values import broken_records, value_changes
from ciwm.upstream.drift.world import World
from ciwm.upstream.names import readable_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ciwm.upstream.drift.index import Index
    from ciwm.upstream.drift.pair import Change
    from ciwm.upstream.drift.surface import Surface
    from ciwm.upstream.drift.uses import Use

USES_LISTED = 50
COMMITS_LISTED = 10
_FIRST = (  # what fails comes before what may be out of date
    "removed",
    "moved",
    "call no longer binds",
    "override signature",
    "patch signature",
    "orphaned override",
    "dataclass field changed",
    "enum member changed",
    "operator schema changed",
    "upstream deleted an override",
    "patched body changed",
    "overridden body changed",
    "registry changed",
    "default changed",
)


@dataclass(frozen=True)
class Compared:
    """The findings from one pin, the most important first, and notes on what limits them."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


def worlds_of(surface: Surface, old: Index, new: Index) -> Worlds:
    """The plugin at the pin and at the target."""
    plugin = surface.index
    return Worlds(World(old, plugin), World(new, plugin), (old, new), plugin)


def compared(surface: Surface, worlds: Worlds, is_test: Callable[[str], bool]) -> Compared:
    """Every finding, with the commits that are behind it where upstream's history is here."""
    bodies = Bodies()
    with no_collection():
        changes = _changes(surface, worlds, bodies)
    groups: defaultdict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in changes:
        groups[change.kind, change.symbol].append(change)
    blamer, note = _blamer(worlds, bodies)
    findings = [_finding(group, blamer, is_test) for group in groups.values()]
    return Compared(tuple(sorted(findings, key=importance)), (note,) if note else ())


def _changes(surface: Surface, worlds: Worlds, bodies: Bodies) -> list[Change]:
    uses = [use for use in surface.uses if _concerns(worlds, use)]
    paths = {path for use in uses for path in use.paths}
    found = chain(
        removals(worlds, uses),
        call_changes(worlds, uses),
        override_changes(worlds, uses, bodies),
        deleted_overrides(worlds, paths),
        patch_changes(worlds, uses, bodies),
        value_changes(worlds, uses),
        broken_records(worlds),
        registration_changes(worlds, uses, bodies),
        entry_point_changes(worlds),
        operator_changes(worlds, uses),
    )
    return list(dict.fromkeys(found))


def _concerns(worlds: Worlds, use: Use) -> bool:
    """Whether a use leads into upstream or the plugin: most lead to neither."""
    return use.kind == "operator" or any(
        isinstance(worlds.old.resolve(path), Found) or worlds.reached(path) for path in use.paths
    )


def _blamer(worlds: Worlds, bodies: Bodies) -> tuple[Blamer | None, str]:
    old, new = (index.tree for index in worlds.upstream)
    if not isinstance(old, GitTree) or not isinstance(new, GitTree):
        return None, "upstream is a folder without history: no commit is named"
    folders = sorted({path.partition("/")[0] for ix in worlds.upstream for path in _paths(ix)})
    steps, note = file_steps(new, old.commit, new.commit, folders)
    if note:
        return None, note
    deadline = time.monotonic() + BUDGET_S
    return Blamer(worlds, new, worlds.upstream[1].blobs, bodies, steps, deadline), ""


def _paths(index: Index) -> list[str]:
    return [module.path for module in index.modules.values() if module.path]


def _finding(
    group: Sequence[Change], blamer: Blamer | None, is_test: Callable[[str], bool]
) -> Finding:
    ordered = sorted(
        group,
        key=lambda c: (c.severity != "hard", is_test(c.use.path), c.use.path, c.use.line),
    )
    first = ordered[0]
    blame = _blame(first, blamer)
    places = list(dict.fromkeys(change.use.place for change in ordered))
    commits = [_commit(each) for each in blame.commits]
    return Finding.model_validate(
        {
            "kind": first.kind,
            "severity": first.severity,
            "symbol": readable_text(first.symbol),
            "upstream": readable_text(
                first.after if first.kind != "removed" and first.after else first.before
            ),
            "use": readable_text(places[0]),
            "before": readable_text(first.before),
            "after": readable_text(first.after),
            "detail": readable_text(first.detail),
            "mend": readable_text(first.mend),
            "commit": commits[0] if commits else None,
            "other_commits": tuple(commits[1 : COMMITS_LISTED + 1]),
            "commit_unknown": blame.unknown,
            "use_kind": first.use.kind,
            "use_count": len(places),
            "uses": tuple(readable_text(place) for place in places[:USES_LISTED]),
            "guard": readable_text(first.use.guard),
            "in_tests": all(is_test(change.use.path) for change in group),
        }
    )


def _blame(change: Change, blamer: Blamer | None) -> Blame:
    if blamer is None:
        return Blame(unknown="no history")
    if change.trace is None:
        return Blame(unknown="not looked for: it is no Python definition")
    return blamer.of(*change.trace)


def _commit(each: Commit) -> UpstreamChange:

    return UpstreamChange(sha=each.sha, subject=each.subject, pr=each.pr)


def importance(finding: Finding) -> tuple[object, ...]:
    """A sort key: what fails in shipped code first, what tests use last of each severity."""
    return (
        finding.severity != "hard",
        finding.in_tests,
        bool(finding.guard),
        _FIRST.index(finding.kind),
        -finding.use_count,
        finding.symbol,
    )


def merged(lanes: dict[str, Sequence[Finding]]) -> tuple[Finding, ...]:
    """The findings of all lanes; what is the same from several pins is told once."""
    found: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for name, findings in lanes.items():
        for each in findings:
            key = (each.kind, each.severity, each.symbol, each.use, each.after, each.detail)
            found.setdefault(key, []).append((name, each))
    told = (
        group[0][1].model_copy(update={"lanes": tuple(name for name, _ in group)})
        for group in found.values()
    )
    return tuple(sorted(told, key=importance))
