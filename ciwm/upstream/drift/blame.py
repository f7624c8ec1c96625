"""Which upstream commit changed a definition, from the versions its file had on the main line."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ciwm.errors import GitError
from ciwm.upstream.drift.regions import region
from ciwm.upstream.names import readable_text
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from ciwm.upstream.drift.bodies import Bodies
    from ciwm.upstream.drift.index import Blobs
    from ciwm.upstream.drift.pair import Where, Worlds
    from ciwm.upstream.drift.symbols import Summary
    from ciwm.upstream.drift.tree import GitTree

_ALL_LOOKED_AT = 24  # versions of a file; of more, the one change is found by halving
BUDGET_S = 20.0
_PR = re.compile(r"\(#(\d+)\)")


class Commit(NamedTuple):
    """One upstream commit."""

    sha: str
    subject: str

    @property
    def pr(self) -> int | None:
        """The pull request that its subject ends with."""
        found = _PR.findall(self.subject)
        return int(found[-1]) if found else None


class Step(NamedTuple):
    """A commit that changed a file, with the contents before and after ("" for no file)."""

    commit: Commit
    before: str
    after: str


class Blame(NamedTuple):
    """The commits that changed a definition, newest first; or why none is named."""

    commits: tuple[Commit, ...] = ()
    unknown: str = ""


@dataclass
class Blamer:
    """Looks definitions up in one range of upstream's main line; answers are remembered."""

    worlds: Worlds
    tree: GitTree
    blobs: Blobs
    bodies: Bodies
    steps: dict[str, list[Step]]
    deadline_s: float
    _answers: dict[tuple[Where, str], Blame] = field(default_factory=dict)
    _regions: dict[tuple[str, str], str] = field(default_factory=dict)
    _states: dict[tuple[Where, str, str], Hashable] = field(default_factory=dict)
    _lost: set[str] = field(default_factory=set)

    def of(self, where: Where, what: str) -> Blame:
        """The commits that gave a definition the state it has at the target."""
        key = (where, what)
        if key not in self._answers:
            self._answers[key] = self._searched(where, what)
        return self._answers[key]

    def _searched(self, where: Where, what: str) -> Blame:
        paths = [
            ix.modules[where.module].path
            for ix in self.worlds.upstream
            if where.module in ix.modules
        ]
        steps = next((self.steps[path] for path in paths if path in self.steps), [])
        if not steps:
            return Blame(
                unknown="no commit between pin and target on the main line touches its file"
            )
        if time.monotonic() > self.deadline_s:
            return Blame(unknown=f"not searched: more than {BUDGET_S:.0f} s of searching")
        self._find_regions(steps, where)
        if any(blob in self._lost for step in steps for blob in step[1:]):
            return Blame(unknown="some versions of its file are missing here")
        if len(steps) <= _ALL_LOOKED_AT:
            found = [
                step.commit
                for step in steps
                if self._state(step.before, where, what) != self._state(step.after, where, what)
            ]
        else:
            found = self._halved(steps, where, what)
        if not found:
            return Blame(unknown="it differs already where pin and target part")
        return Blame(tuple(found[:1] if what == "presence" else found))

    def _halved(self, steps: Sequence[Step], where: Where, what: str) -> list[Commit]:
        """One commit by halving: newest first, the state at the target is that of the first."""
        final = self._state(steps[0].after, where, what)
        if self._state(steps[-1].before, where, what) == final:
            return []
        low, high = 0, len(steps) - 1  # the state before steps[high] differs from the final one
        while low < high:
            middle = (low + high) // 2
            if self._state(steps[middle].before, where, what) != final:
                high = middle
            else:
                low = middle + 1
        return [steps[low].commit]

    def _find_regions(self, steps: Sequence[Step], where: Where) -> None:
        """Digest the lines that matter in every version of the file, with one process."""
        name = where.name.rpartition(".")[2]
        blobs = dict.fromkeys(blob for step in steps for blob in step[1:] if blob)
        wanted = [blob for blob in blobs if (blob, name) not in self._regions]
        for blob, content in self.tree.contents(wanted):
            self._regions[blob, name] = region(content or b"", name)
            if content is None:
                self._lost.add(blob)

    def _read(self, blobs: Iterable[str], what: str) -> None:
        if what == "body":
            self.bodies.read(self.tree, blobs)
        else:
            self.blobs.read(self.tree, blobs)

    def _state(self, blob: str, where: Where, what: str) -> Hashable:
        """What of a definition is looked at, in one version; versions with equal lines are one."""
        if not blob:
            return None
        key = (where, what, self._regions[blob, where.name.rpartition(".")[2]])
        if key not in self._states:
            self._states[key] = self._parsed_state(blob, where, what)
        return self._states[key]

    def _parsed_state(self, blob: str, where: Where, what: str) -> Hashable:
        self._read([blob], what)
        if what == "body":
            return self.bodies.of(self.tree, blob, where.name) or None
        summary = self.blobs.summaries.get(blob)
        if summary is None:
            return "unparsed"
        rows = summary.names.get(where.name, ())
        told: dict[str, Hashable] = {
            "presence": bool(rows) or not where.name,
            "definition": any(row.kind != "import" for row in rows),
            "value": tuple(row.value for row in rows),
        }
        return told[what] if what in told else _shape(summary, where.name)


def _shape(summary: Summary, name: str) -> Hashable:
    """Everything a caller of a function or a constructor depends on."""
    rows = summary.names.get(name, ())
    fields = tuple(
        (full, inner[0].value, inner[0].marks)
        for full, inner in summary.names.items()
        if inner[0].kind == "field" and full.rpartition(".")[0] == name
    )
    return tuple((row.parameters, row.kind) for row in rows), fields


def file_steps(
    tree: GitTree, pin: str, target: str, folders: Iterable[str]
) -> tuple[dict[str, list[Step]], str]:
    """Main line commits from pin to target by file, newest first; and why not, when git cannot."""
    walk = ("log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--raw")
    form = ("--no-abbrev", "--encoding=UTF-8", "--format=%x01%H%x02%s")
    try:
        found = read(tree.repository, *walk, *form, f"{pin}..{target}", "--", *folders)
    except GitError as error:
        return {}, f"the commits behind the findings are not known: {error.message}"
    steps: dict[str, list[Step]] = {}
    commit = Commit("", "")
    for line in found.text.split("\n"):
        if line.startswith("\x01"):
            sha, _, subject = line[1:].partition("\x02")
            commit = Commit(sha, readable_text(subject))
        elif line.startswith(":"):
            meta, _, path = line.partition("\t")
            _, _, before, after, _ = meta.split(" ")
            step = Step(commit, before.strip("0") and before, after.strip("0") and after)
            steps.setdefault(path, []).append(step)
    return steps, ""
