"""Moving a plugin's pin: the file that states it with another upstream in it, on trial."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.errors import GitError, UsageError
from ciwm.upstream.pins import file_at, is_commit_id, pin_in, read_pin
from ciwm.upstream.sources import find_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.config import PinConfig, UpstreamConfig
    from ciwm.git import Repository

_BY_HAND = "move it by hand, and compare the two with: ciwm bench BASE HEAD"
_LOCKED = (".lock", "-lock.json", "-lock.yaml")


@dataclass(frozen=True)
class Move:
    """A pin and where it goes: as it is written, and the upstream commit that means.

    `tree` is the downstream's tree with the pin moved; None where it is there already.
    """

    old: str
    new: str
    sha: str
    tree: str | None


def moved_pin(
    repository: Repository, downstream: str, config: UpstreamConfig, named: str | None
) -> Move:
    """The newest upstream (or a named one) as the pin: a commit's id, or the newest tag before it.

    Of several lanes the first moves. Writes objects alone. Raises UsageError where the pin, or
    upstream, is no place that can be moved to.
    """
    top = repository.from_top().without_fetching()
    if not config.lanes:
        raise UsageError("a plugin needs a pin: which upstream is it made for?", "[upstream] pin")
    pin = next(iter(config.lanes.values()))
    if pin.folder is not None or pin.revision is not None:
        raise UsageError("the pin is no file and no submodule of this repository", _BY_HAND)
    root = repository.root or repository.common_directory
    source = find_source(top, config, root)
    if source.repository is None:
        raise UsageError(f"{source.path} is no clone of upstream", "[upstream] repository = CLONE")
    upstream, target = source.repository, source.target(named, config, root)
    old = read_pin(top, downstream, pin)
    if is_commit_id(old.text):
        new, sha = target.sha, target.sha
    else:
        new, sha = _release(upstream, target.sha, old.text)
    was = source.pinned(old, pin.package or next(iter(config.packages), "")).sha
    if upstream.run("merge-base", "--is-ancestor", sha, was, check=False).status == 0:
        return Move(old.text, old.text, was, None)
    return Move(old.text, new, sha, _tree(top, downstream, pin, (old.text, new)))


def _release(upstream: Repository, sha: str, old: str) -> tuple[str, str]:
    """The newest tag that a commit has behind it, written as the old pin is, and its commit."""
    found = upstream.run("describe", "--tags", "--abbrev=0", sha, check=False)
    tag = found.text.strip()
    if found.status != 0 or not tag:
        raise UsageError(
            f"the pin is {old}, and upstream has no tag before {sha[:12]}",
            f"git -C {upstream.path} fetch --tags",
        )
    prefix = re.match(r"\D*", old)
    return (prefix[0] if prefix else "") + re.sub(r"^\D*", "", tag), upstream.commit(tag)


def _tree(repository: Repository, commit: str, pin: PinConfig, names: tuple[str, str]) -> str:
    """The commit's tree with the new pin in the place of the old one."""
    if pin.submodule is not None:
        mode, blob, path = "160000", names[1], pin.submodule.removeprefix("./").rstrip("/")
    else:
        path = (pin.file or "").removeprefix("./")
        text = _rewritten(file_at(repository, commit, path), pin, *names)
        mode = repository.text("ls-tree", "--format=%(objectmode)", commit, "--", path)
        stdin = text.encode("utf-8", "surrogateescape")
        blob = repository.run("hash-object", "-w", "--stdin", stdin=stdin).text.strip()
    with tempfile.TemporaryDirectory(prefix="ciwm-index-") as folder:
        own = repository.with_variables(GIT_INDEX_FILE=str(Path(folder) / "index"))
        own.run("read-tree", commit)
        own.run("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
        return own.text("write-tree", "--missing-ok")


def _rewritten(text: str, pin: PinConfig, old: str, new: str) -> str:
    """The file's text, in which the pin reads as the new one and nothing else is changed."""
    path = pin.file or ""
    if path.endswith(_LOCKED):
        raise UsageError(f"{path} is written by its tool, checksums and all", _BY_HAND)
    for candidate in _candidates(text, pin, old, new):
        try:
            if pin_in(candidate, pin).text == new:
                return candidate
        except UsageError:
            continue
    raise UsageError(f"{path} cannot be made to say {new} in the place of {old}", _BY_HAND)


def _candidates(text: str, pin: PinConfig, old: str, new: str) -> Iterator[str]:
    """Texts with the old pin replaced: by the pattern, else in one line, else in several."""
    if pin.pattern is not None:
        yield re.sub(
            pin.pattern,
            lambda found: found[0].replace(found[1], new),
            text,
            flags=re.MULTILINE,
        )
        return
    lines = text.splitlines(keepends=True)
    having = [number for number, line in enumerate(lines) if old in line]
    name = re.sub(r"[-_.]+", "-", pin.package or "").lower()
    own = [one for one in having if name and name in re.sub(r"[-_.]+", "-", lines[one]).lower()]
    for group in (*([one] for one in having), own, having):
        changed = [line.replace(old, new) if n in group else line for n, line in enumerate(lines)]
        yield "".join(changed)


def committed_move(repository: Repository, base: str, move: Move, message: str) -> str:
    """A commit of no branch with the moved pin; raises GitError where git makes none."""
    if move.tree is None:
        raise GitError("the pin is where it should go already")
    return repository.text("commit-tree", move.tree, "-p", base, "-m", message)
