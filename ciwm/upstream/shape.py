"""What kind of downstream this is, the evidence for it, and on what ground it can be measured.

Histories that were cut (rewritten, or squashed and declared) are joined by grafts; see grafts.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError
from ciwm.records.sync import Shape
from ciwm.upstream.commit_changes import commit_changes
from ciwm.upstream.debt import net_changes
from ciwm.upstream.equal_trees import find_joint
from ciwm.upstream.history import described, history, plain
from ciwm.upstream.names import readable_path
from ciwm.upstream.pair import merge_bases
from ciwm.upstream.reading import read
from ciwm.upstream.squash import squashed_syncs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.config import UpstreamConfig
    from ciwm.git import Repository
    from ciwm.records.sync import Style
    from ciwm.records.sync_shape import Ancestry, SquashedSync
    from ciwm.upstream.measure import Measured
    from ciwm.upstream.pair import Pair

BASES_SHOWN = 8


@dataclass(frozen=True)
class Ground:
    """The downstream's style, and the commits and grafts its figures come from."""

    style: Style
    pair: Pair
    ancestry: Ancestry
    evidence: tuple[str, ...]
    grafts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    synced_to: str | None = None
    merge_bases: tuple[str, ...] = ()  # where they are known: of histories that need no graft


def find_ground(repository: Repository, pair: Pair, config: UpstreamConfig) -> Ground:
    """The style that configuration states or the two histories show.

    Raises UsageError for a `synced_to` that is no commit of upstream's, or that no downstream
    commit can have brought.
    """
    stated = (f'[upstream] style = "{config.style}"',) if config.style else ()
    found = read(repository, "merge-base", "--all", pair.upstream, pair.downstream, accept=(1,))
    bases = found.text.split()
    if config.style in ("plugin", "patches"):
        return Ground(config.style, pair, "shared" if bases else "unrelated", stated)
    if config.synced_to is not None:
        ground = _declared(repository, pair, bases, config.synced_to)
    elif bases:
        ground = Ground("fork", pair, "shared", (), merge_bases=tuple(bases))
    else:
        ground = _without_common_commit(repository, pair)
        if config.style == "fork" and ground.style != "fork":
            merge_bases(repository, pair)  # says that there is none
    return replace(ground, evidence=(*stated, *ground.evidence))


def _without_common_commit(repository: Repository, pair: Pair) -> Ground:
    joint = find_joint(repository, pair)
    if joint is None:
        return _unrelated(repository, pair)
    equal = len(joint.twins)
    evidence = (
        "rewritten history: no commit in common, but "
        + (f"{equal:,} downstream commits have" if equal > 1 else "one downstream commit has")
        + " the very files of an upstream commit",
        f"joined at the newest of them: {joint.newest[:12]} is upstream's {joint.base[:12]}",
    )
    # A tip that is itself such a commit carries nothing: it stands for upstream's own.
    tip = joint.twins.get(pair.downstream, pair.downstream)
    return Ground("fork", replace(pair, downstream=tip), "rewritten", evidence, joint.grafts)


def _unrelated(repository: Repository, pair: Pair) -> Ground:
    """Two projects: a queue of patches when there are any, else a plugin."""
    ours, theirs = (_files(repository, sha) for sha in (pair.downstream, pair.upstream))
    evidence = ["no commit and no tree in common with upstream"]
    upstream_ids = set(theirs.values())
    vendored = sum(blob in upstream_ids for blob in ours.values())
    if vendored:
        evidence.append(f"{vendored:,} of {len(ours):,} files are exact copies of upstream's")
    patches = [path for path in ours if path.endswith((".patch", ".diff"))]
    code = [path for path in ours if path.endswith((".py", ".cpp", ".cc", ".cu", ".c", ".rs"))]
    if patches and len(patches) >= len(code):
        evidence.append(f"{len(patches):,} patch files (the first: {readable_path(patches[0])})")
        return Ground("patches", pair, "unrelated", tuple(evidence))
    return Ground("plugin", pair, "unrelated", tuple(evidence))


def _files(repository: Repository, sha: str) -> dict[str, str]:
    entries = read(repository, "ls-tree", "-r", "-z", sha).text.split("\0")[:-1]
    parts = (entry.split("\t", 1) for entry in entries)
    return {path: meta.split(" ")[2] for meta, path in parts}


def _declared(repository: Repository, pair: Pair, bases: Sequence[str], declared: str) -> Ground:
    """The histories joined where configuration says that they meet."""
    synced_to = _upstream_commit(repository, pair, declared)
    if _holds(repository, pair.downstream, synced_to):
        note = f"synced_to = {synced_to[:12]} is merged by now and can be taken out of [upstream]"
        return Ground("fork", pair, "shared", (note,), synced_to=synced_to)
    bringer = _bringer(repository, pair, synced_to, next(iter(bases), None))
    (commit,) = described(repository, [bringer])
    parents = read(repository, "rev-list", "--no-walk", "--parents", bringer).text.split()[1:]
    evidence = (
        f"ancestry declared: [upstream] synced_to = {synced_to[:12]}; of all commits "
        f"{bringer[:12]} ({commit.subject}) brought most of it, and counts as its merge"
    )
    # Without any common history the root of an import has no parent; nothing else is known.
    grafts = {bringer: (*parents, synced_to)}
    ancestry: Ancestry = "shared" if bases else "rewritten"
    return Ground("fork", pair, ancestry, (evidence,), grafts, synced_to)


def _upstream_commit(repository: Repository, pair: Pair, declared: str) -> str:
    hint = f"it is the commit of {pair.upstream_ref} whose work the last squashed sync brought"
    try:
        sha = repository.commit(declared)
    except UsageError as error:
        raise UsageError(f"[upstream] synced_to: no such commit here: {declared}", hint) from error
    if not _holds(repository, pair.upstream, sha):
        message = f"[upstream] synced_to: {sha[:12]} is no commit of {pair.upstream_ref}"
        raise UsageError(message, hint)
    return sha


def _holds(repository: Repository, tip: str, sha: str) -> bool:
    found = read(repository, "merge-base", "--is-ancestor", sha, tip, accept=(1,))
    return found.status == 0


def _bringer(repository: Repository, pair: Pair, synced_to: str, base: str | None) -> str:
    """The downstream commit with most files as they are at `synced_to` and were not at `base`."""
    own = plain(history(repository, pair, compared=False).downstream)
    if base is None:
        wanted = _files(repository, synced_to)
    else:
        news = net_changes(repository, base, synced_to)
        wanted = {change.path: change.new_id for change in news}
    brought = {
        sha: sum(wanted.get(change.path) == change.new_id for change in changes)
        for sha, changes in commit_changes(repository, own).items()
    }
    best = max(brought, key=lambda sha: brought[sha], default=None)
    if best is None or not brought[best]:
        raise UsageError(
            f"[upstream] synced_to: no commit of {pair.downstream_ref} holds a file as it is at "
            f"{synced_to[:12]} and was not before",
            "take synced_to out, or name the upstream commit that was really synced to",
        )
    return best


def fork_shape(repository: Repository, ground: Ground, measured: Measured) -> Shape:
    """The shape of a measured fork; what the search for squashed syncs could not read, it says."""
    if ground.style != "fork":
        return Shape(style=ground.style, evidence=ground.evidence, ancestry=ground.ancestry)
    try:
        squashed = squashed_syncs(repository, measured)
        found = _squash_evidence(squashed, measured.merge_bases[0])
    except GitError as error:
        squashed, found = (), (f"squashed syncs could not be looked for: {error.message}",)
    return Shape(
        style=ground.style,
        evidence=(*ground.evidence, *_base_evidence(measured), *found),
        ancestry=ground.ancestry,
        synced_to=ground.synced_to,
        squashed=squashed,
    )


def _base_evidence(measured: Measured) -> tuple[str, ...]:
    first, *others = measured.merge_bases
    line = f"shares history with upstream up to {first[:12]} ({measured.dates[first]:%Y-%m-%d})"
    if not others:
        return (line,)
    more = ", ".join(sha[:12] for sha in others[:BASES_SHOWN])
    left = f" and {len(others) - BASES_SHOWN} more" if len(others) > BASES_SHOWN else ""
    return (line, f"the two sides merged crosswise: {more}{left} are merge bases as well")


def _squash_evidence(syncs: Sequence[SquashedSync], base: str) -> tuple[str, ...]:
    """What squashed syncs mean for the figures, a sentence each."""
    lines = [
        f"ancestry lost: {sync.sha[:12]} ({sync.subject}) has one parent but brought upstream's "
        f"work: {sync.upstream_files:,} of {sync.files:,} files are upstream's at "
        f"{(sync.synced_to or '')[:12]} ({sync.reason}). Git, and these figures, still count from "
        f"the older base {base[:12]}; if that is the commit it synced to, declare it: [upstream] "
        f'synced_to = "{sync.synced_to}"'
        for sync in syncs
        if not sync.healed
    ]
    healed = [sync for sync in syncs if sync.healed]
    if healed:
        newest = healed[0]
        more = f" and {len(healed) - 1} more" if len(healed) > 1 else ""
        lines.append(
            f"squashed long ago: {newest.sha[:12]} ({newest.subject}, {newest.files:,} files)"
            f"{more}; the merge base is younger, so that nothing is lost any more"
        )
    return tuple(lines)
