"""Bringing file contents that a partial clone left out: only ever where somebody asked for it.

All that a report needs is asked for at once. Git's own way, an object when it is missed, would
take a request for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import CiwmError
from ciwm.git import Repository
from ciwm.upstream.commit_changes import commit_changes, grouped_changes
from ciwm.upstream.debt import net_changes
from ciwm.upstream.drift.blame import file_steps
from ciwm.upstream.drift.tree import GitTree
from ciwm.upstream.gaps import blobs, missing_objects
from ciwm.upstream.history import history, plain
from ciwm.upstream.pair import find_pair
from ciwm.upstream.pins import read_pin
from ciwm.upstream.reading import read
from ciwm.upstream.sources import find_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.config import UpstreamConfig

AT_ONCE = 1_000
LOST_AT_MOST = 20
_READ = (".py", ".pyi", ".yaml", ".cpp", ".cc", ".cxx", ".cu", ".h", ".hpp", ".cuh", ".mm", ".hip")
_FETCH = (
    *("-c", "fetch.negotiationAlgorithm=noop", "-c", "gc.auto=0", "-c", "maintenance.auto=false"),
    *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"),
    *("--filter=blob:none", "--stdin"),
)


def fetch_missing(
    repository: Repository, upstream: str | None, *, downstream: str, config: UpstreamConfig
) -> tuple[str, ...]:
    """Fetch what a report on a fork or plugin reads and its partial clone lacks; no ref changes.

    The sentences say what could not be had. Past syncs are replayed with what is here.
    """
    try:
        if config.patches is not None or config.style == "patches":
            return ("--fetch-missing does nothing for a patch queue",)
        if config.style == "plugin" or config.lanes:
            return _for_plugin(repository, upstream, downstream, config)
        return _for_fork(repository, upstream, downstream, config)
    except CiwmError as error:
        return (f"nothing could be fetched: {error.message}",)


def _for_fork(
    repository: Repository, upstream: str | None, downstream: str, config: UpstreamConfig
) -> tuple[str, ...]:
    """Contents at the merge bases and tips, and of every commit between them."""
    offline = repository.from_top().without_fetching()
    pair = find_pair(offline, upstream, downstream, config)
    tips = pair.upstream, pair.downstream
    found = offline.run("merge-base", "--all", *tips, check=False).text.split()
    net = [net_changes(offline, base, tip) for base in found for tip in tips]
    sides = history(offline, pair, compared=False)
    made = commit_changes(offline, [*plain(sides.upstream), *plain(sides.downstream)])
    changes = [change for each in (*net, *made.values()) for change in each]
    wanted = {blob for change in changes for blob in blobs(change)}
    touched = {change.path for change in changes}
    merges = [sha for sha, parents in sides.downstream.items() if len(parents) > 1]
    wanted |= _merged(offline, merges, {change.path for change in net[1]} if net else set())
    theirs = GitTree(offline, pair.upstream).files
    wanted |= {blob for path, blob in theirs.items() if path in touched}
    return _fetched(repository, wanted)


def _merged(offline: Repository, merges: Iterable[str], paths: set[str]) -> set[str]:
    """Contents that merges gave to some paths: blame goes through them."""
    asked = "".join(f"{sha}\n" for sha in merges).encode()
    form = ("diff-tree", "--stdin", "-m", "-r", "--raw", "--no-renames", "--no-abbrev", "-z")
    fields = iter(read(offline, *form, stdin=asked).text.split("\0")[:-1]) if asked else iter(())
    return {
        blob
        for _, changes in grouped_changes(fields)
        for change in changes
        if change.path in paths
        for blob in blobs(change)
    }


def _for_plugin(
    repository: Repository, upstream: str | None, downstream: str, config: UpstreamConfig
) -> tuple[str, ...]:
    """Sources of the plugin, and of upstream at each pin, at the target and between them."""
    offline = repository.from_top().without_fetching()
    ours = offline.commit(downstream)
    notes = _fetched(repository, _sources(GitTree(offline, ours)))
    root = repository.root or repository.common_directory
    source = find_source(offline, config, root)
    target = source.target(upstream, config, root).tree
    if source.repository is None or not isinstance(target, GitTree):
        return notes
    wanted = _sources(target)
    for pin in config.lanes.values():
        if pin.folder is not None:
            continue
        package = pin.package or next(iter(config.packages), "")
        old = source.pinned(read_pin(offline, ours, pin), package).tree
        if isinstance(old, GitTree):
            steps, _ = file_steps(target, old.commit, target.commit, ())
            versions = (step for path in steps if path.endswith(_READ) for step in steps[path])
            wanted |= _sources(old) | {blob for step in versions for blob in step[1:] if blob}
    return (*notes, *_fetched(Repository(source.repository.path), wanted))


def _sources(tree: GitTree) -> set[str]:
    return {blob for path, blob in tree.files.items() if path.endswith(_READ)}


def _fetched(repository: Repository, ids: Iterable[str]) -> tuple[str, ...]:
    """Fetch those of the objects that are not here, from the remote that has promised them."""
    with repository.without_fetching().scratch_objects() as scratch:
        absent = missing_objects(scratch, ids)
    if not absent:
        return ()
    found = repository.run("config", "--get-regexp", r"^remote\..*\.promisor$", check=False)
    keys = [line.partition(" ")[0] for line in found.text.splitlines()]
    names = [key.removeprefix("remote.").removesuffix(".promisor") for key in keys]
    if not names:
        return (f"{len(absent):,} objects are missing, and no remote has promised them",)
    wanted, lost = sorted(absent), list[str]()
    words = ""
    for start in range(0, len(wanted), AT_ONCE):
        words = _asked(repository, names[0], wanted[start : start + AT_ONCE], lost) or words
    if not lost:
        return ()
    which = f"{len(lost):,} of {len(absent):,} objects" if len(lost) < len(absent) else "objects"
    return (f"{which} could not be fetched from {names[0]} ({lost[0]}, say): {words}",)


def _asked(repository: Repository, remote: str, ids: list[str], lost: list[str]) -> str:
    """Fetch some objects, in halves where the remote lacks one of them; git's last words.

    After LOST_AT_MOST refusals the rest is given up.
    """
    if len(lost) >= LOST_AT_MOST:
        lost += ids
        return ""
    asked = "".join(f"{each}\n" for each in ids).encode()
    done = repository.run(*_FETCH, remote, stdin=asked, check=False)
    if done.status == 0:
        return ""
    said = [line for line in done.stderr.splitlines() if line.startswith(("error:", "fatal:"))]
    words = said[0] if said else "no message"
    if len(ids) == 1 or "not appear to be a git repository" in done.stderr:
        lost += ids
        return words
    middle = len(ids) // 2
    first = _asked(repository, remote, ids[:middle], lost)
    return _asked(repository, remote, ids[middle:], lost) or first or words
