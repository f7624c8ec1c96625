"""Which main-line commits cannot conflict otherwise than the one before them.

`git merge` looks at a path together with others only to follow renames and moved folders, and
where a file stands in the way of a folder. Apart from these, each path is merged by itself. So a
commit needs a merge of whole trees only when it

- adds, removes or retypes a path that the downstream changed (or anything but plain files),
- changes anything while a folder may be moving: upstream has emptied one in which the downstream
  added files, or has added files in one that the downstream seems to have moved,
- adds or removes paths that could have a say in a rename, once upstream removed a file that the
  downstream changed and added one that resembles it: by their own likeness, by their name, or as
  two halves of a rename without any change,
- puts a file where a folder is or was, or the reverse,
- adds or removes the very content of a file that both sides added.

One that changes a file in place, which the downstream changed in place as well, needs a merge of
that file alone. After all others, the same files conflict as before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ciwm.upstream.mainline.terrain import folders

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.upstream.mainline.steps import Entry, Step, Touch
    from ciwm.upstream.mainline.terrain import Terrain

Need = Literal["nothing", "files", "trees"]


@dataclass
class Tracker:
    """Upstream's side at one commit, as far as it differs from the merge base.

    `sources` are the files that the downstream changed and upstream removed; `resembling` are the
    contents that resemble one, which must cover all commits that are weighed. Where git gives up
    on renames at some number of files (`renames_unbounded` is False), every new file counts.
    """

    terrain: Terrain
    renames_unbounded: bool = True
    base: dict[str, Entry | None] = field(default_factory=dict)
    resembling: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    _now: dict[str, Entry | None] = field(default_factory=dict)
    _below: Counter[str] = field(default_factory=Counter)
    _empty: set[str] = field(default_factory=set)
    _strays: set[str] = field(default_factory=set)
    _folders: set[str] = field(default_factory=set)
    _alike: set[str] = field(default_factory=set)
    _added_twice: dict[str, str] = field(default_factory=dict)
    _added: Counter[str] = field(default_factory=Counter)
    _removed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Start at the merge base."""
        self._below.update(self.terrain.watched)
        self._folders.update(each for path in self.terrain.changes for each in folders(path))

    def note(self, step: Step) -> None:
        """Learn what the merge base has under the paths of a step yet to be weighed."""
        for touch in step:
            self.base.setdefault(touch.path, touch.old)

    def resemble(self, contents: Iterable[str]) -> None:
        """Take in more contents that resemble a removed file."""
        self.resembling.update(contents)
        self._alike = {
            path
            for path, entry in self._now.items()
            if entry is not None and self.base[path] is None and entry.blob in self.resembling
        }

    def added(self) -> set[Entry]:
        """What upstream added and still has."""
        return {
            entry
            for path, entry in self._now.items()
            if entry is not None and self.base[path] is None
        }

    def follow(self, step: Step) -> None:
        """Go to the commit after a step."""
        for touch in step:
            self._now[touch.path] = touch.new
            if not self._in_place(touch):
                self._move(touch)

    def weigh(self, step: Step) -> Need:
        """Go to the commit after a step, and say what its merge needs to be known."""
        own = [touch for touch in step if touch.path in self.terrain.changes]
        others = [touch for touch in step if touch.path not in self.terrain.changes]
        moved = [touch for touch in others if not self._in_place(touch)]
        before = self._folder_moves or any(map(self._renames, moved))
        self.follow(step)
        after = self._folder_moves or any(map(self._renames, moved))
        if step and (before or after):
            return "trees"
        if any(map(self._entangled, moved)) or not all(map(_plain, others)):
            return "trees"
        if not all(map(self._alone, own)):
            return "trees"
        return "files" if own else "nothing"

    @property
    def _folder_moves(self) -> bool:
        return bool(self._empty or self._strays)

    def _renames(self, touch: Touch) -> bool:
        """Whether an added or removed file may have a say in a rename."""
        if not (self.sources and self._alike):
            return False
        if not self.renames_unbounded or _name(touch.path) in map(_name, self.sources):
            return True
        other_half = self._removed if self.base[touch.path] is None else self._added
        contents = self._contents(touch)
        return any(blob in self.resembling or other_half[blob] for blob in contents)

    def _contents(self, touch: Touch) -> set[str]:
        """What a rename would be told by: the merge base's of a removed file, else its own."""
        base = self.base[touch.path]
        entries = (touch.old, touch.new) if base is None else (base,)
        return {entry.blob for entry in entries if entry is not None}

    def _in_place(self, touch: Touch) -> bool:
        """Whether a file of the merge base stays where it is."""
        return None not in (self.base[touch.path], touch.old, touch.new)

    def _alone(self, touch: Touch) -> bool:
        """Whether a file that the downstream changed is merged by itself, before and after."""
        ours = self.terrain.changes[touch.path]
        kept = self._in_place(touch) and None not in (ours.old, ours.new)
        return kept and _plain(touch) and ours.regular

    def _entangled(self, touch: Touch) -> bool:
        """Whether other paths may have a say in what becomes of this one."""
        path, above = touch.path, folders(touch.path)
        if path in self._folders or any(self._was_file(folder) for folder in above):
            return True
        return not self._contents(touch).isdisjoint(self._added_twice.values())

    def _was_file(self, path: str) -> bool:
        return path in self.terrain.changes or self.base.get(path) is not None

    def _move(self, touch: Touch) -> None:
        """Keep the books on files that upstream added or removed."""
        path, new, base = touch.path, touch.new, self.base[touch.path]
        above = folders(path)
        self._folders.update(above)
        self._count(above, (new is not None) - (touch.old is not None))
        self._book(self._alike, path, base is None and new and new.blob in self.resembling)
        strays = base is None and new is not None and not self.terrain.moved.isdisjoint(above)
        self._book(self._strays, path, strays)
        self._weigh_halves(touch)
        ours = self.terrain.changes.get(path)
        if ours is None:
            return
        self._book(self.sources, path, base is not None and new is None)
        self._added_twice.pop(path, None)
        if base is None and new is not None and ours.new is not None:
            self._added_twice[path] = new.blob

    def _weigh_halves(self, touch: Touch) -> None:
        """Count the contents of files that upstream added, and of those that it removed."""
        base = self.base[touch.path]
        if base is not None:
            self._removed[base.blob] += (touch.new is None) - (touch.old is None)
            return
        for entry, difference in ((touch.old, -1), (touch.new, 1)):
            if entry is not None:
                self._added[entry.blob] += difference

    def _count(self, above: Iterable[str], difference: int) -> None:
        for folder in above:
            if folder in self.terrain.watched:
                self._below[folder] += difference
                self._book(self._empty, folder, self._below[folder] == 0)

    @staticmethod
    def _book(books: set[str], name: str, there: object) -> None:
        (books.add if there else books.discard)(name)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _plain(touch: Touch) -> bool:
    return touch.regular and not touch.path.endswith(".gitattributes")
