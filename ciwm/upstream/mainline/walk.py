"""The main line from the merge base on, commit by commit, merging only what has to be merged.

What is concluded is checked: at the tip against the trial merge of the report, and around every
rise by merges of whole trees. Should one disagree, everything is merged as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.mainline.likeness import resembling
from ciwm.upstream.mainline.lone_files import LoneFile, conflicting_files
from ciwm.upstream.mainline.search import search
from ciwm.upstream.mainline.steps import read_steps
from ciwm.upstream.mainline.terrain import find_terrain
from ciwm.upstream.mainline.tracker import Tracker
from ciwm.upstream.names import readable_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ciwm.git import Repository
    from ciwm.upstream.mainline.line import Conflicting, Line
    from ciwm.upstream.mainline.steps import Entry, Step

AT_ONCE = 500
DISAGREED = (
    "the shortcut of the search for culprits disagreed with a merge of whole trees (please report "
    "it): every commit was merged as a whole instead"
)


def walk(line: Line) -> str:
    """Learn the conflicts of all commits in order, as far as the time allows.

    What `line` knows already from the first commit on is taken for right, its tip is checked.
    Returns a note for the reader, or nothing. Raises GitError when git cannot merge.
    """
    tip = len(line.commits) - 1
    if _set(line.repository, "renormalize"):  # attributes of every tree then have a say
        search(line)
        return ""
    told = line.known.pop(tip, None)
    start = line.prefix
    _walk(line, start)
    found = line.known.get(tip)
    agreed = (told is None or found is None or told == found) and _confirmed(line, start)
    if told is not None:
        line.known[tip] = told
        line.merged.add(tip)
    if agreed:
        return ""
    line.known = {index: line.known[index] for index in line.merged}
    search(line)
    return DISAGREED


def _walk(line: Line, start: int) -> None:
    terrain = find_terrain(line.repository, line.base, line.downstream)
    tracker = Tracker(terrain, renames_unbounded=not _set(line.repository, "renamelimit"))
    if start:
        _skip(line, tracker, start)
    sources: set[Entry] = set()
    for begin in range(start, len(line.commits), AT_ONCE):
        if line.over:
            return
        before = line.commits[begin - 1] if begin else line.base
        part = line.commits[begin : begin + AT_ONCE]
        steps = read_steps(line.repository, before, part)
        _find_renames(line, tracker, steps, sources)
        needs = _Needs(line, tracker, begin, steps)
        line.learn(needs.trees)
        if not needs.conclude():
            return


def _set(repository: Repository, name: str) -> bool:
    """Whether a setting of git's merges is there."""
    found = repository.run("config", "--get-regexp", rf"^(merge|diff)\.{name}$", check=False)
    return found.status == 0


def _skip(line: Line, tracker: Tracker, length: int) -> None:
    """Put the tracker at the last commit of those known."""
    (net,) = read_steps(line.repository, line.base, [line.commits[length - 1]])
    tracker.note(net)
    tracker.follow(net)


def _find_renames(line: Line, tracker: Tracker, steps: Sequence[Step], known: set[Entry]) -> None:
    """Tell the tracker which added contents resemble a removed file of the downstream's."""
    for step in steps:
        tracker.note(step)
    removed = {touch.path for step in steps for touch in step if touch.new is None}
    sources = {
        entry
        for path in tracker.sources | (removed & tracker.terrain.changes.keys())
        if (entry := tracker.base[path]) is not None
    }
    news = {
        touch.new
        for step in steps
        for touch in step
        if touch.new is not None and tracker.base[touch.path] is None
    }
    fresh = sources - known
    known |= sources
    with line.repository.scratch_objects() as scratch:
        found = resembling(scratch, known, news)
        if fresh:
            found |= resembling(scratch, fresh, tracker.added())
    tracker.resemble(found)


class _Needs:
    """What the merges of some commits need to be known, weighed in one go."""

    def __init__(self, line: Line, tracker: Tracker, begin: int, steps: Sequence[Step]) -> None:
        self.line = line
        self.begin = begin
        self.trees: list[int] = []
        self.files: dict[int, list[LoneFile]] = {}
        for index, step in enumerate(steps, start=begin):
            need = tracker.weigh(step)
            if need == "trees":
                self.trees.append(index)
            elif need == "files":
                self.files[index] = list(_lone_files(tracker, step))
        self.end = begin + len(steps)

    def conclude(self) -> bool:
        """Write down every commit in order; False where the time did not suffice.

        After one that git failed at, nothing can be concluded until the next merge of trees.
        """
        line = self.line
        wanted = dict.fromkeys(file for files in self.files.values() for file in files)
        conflicting = conflicting_files(line.repository, list(wanted))
        current = line.at(self.begin - 1) if self.begin - 1 not in line.failed else None
        trees = set(self.trees)
        for index in range(self.begin, self.end):
            if index in trees:
                current = line.known.get(index)
                if current is None and index not in line.failed:
                    return False
            elif current is not None:
                current = _after(current, self.files.get(index, ()), conflicting)
            if current is None:
                line.failed.setdefault(index, "")
            else:
                line.known[index] = current
        return True


def _after(
    before: Conflicting, files: Sequence[LoneFile], conflicting: Collection[LoneFile]
) -> Conflicting:
    """The conflicting paths once these files are what they are."""
    paths = {readable_path(file.path) for file in files}
    hit = {readable_path(file.path) for file in files if file in conflicting}
    return before - paths | hit


def _lone_files(tracker: Tracker, step: Step) -> Iterator[LoneFile]:
    for touch in step:
        ours = tracker.terrain.changes.get(touch.path)
        if ours and ours.old and ours.new and touch.new:
            yield LoneFile(touch.path, ours.old, ours.new, touch.new)


def _confirmed(line: Line, start: int) -> bool:
    """Whether whole merges agree on both sides of every change, from a commit on."""
    changes = [later for earlier, later in line.intervals() if line.at(earlier) != line.at(later)]
    around = {index for later in changes if later >= start for index in (later - 1, later)}
    unsure = [index for index in around if index in line.known and index not in line.merged]
    found = line.merge([index for index in unsure if index >= 0])
    line.merged.update(index for index in found if found[index] == line.known[index])
    wrong = [index for index in found if found[index] != line.known[index]]
    line.known.update({index: found[index] for index in wrong})
    line.merged.update(wrong)
    return not wrong
