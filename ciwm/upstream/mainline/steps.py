"""What each commit of upstream's main line changed: path by path, from trees alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ciwm.git import Repository

REGULAR = ("100644", "100755")


class Entry(NamedTuple):
    """What a tree holds under a path."""

    mode: str
    blob: str


class Touch(NamedTuple):
    """One path that a step changes; None where there is no such path."""

    path: str
    old: Entry | None
    new: Entry | None

    @property
    def regular(self) -> bool:
        """Whether it is about plain files only: no link, no submodule."""
        return all(entry is None or entry.mode in REGULAR for entry in (self.old, self.new))


Step = list[Touch]


def read_steps(repository: Repository, before: str, commits: Sequence[str]) -> list[Step]:
    """For each commit what it changes against the one before it in this list, without renames."""
    earlier = (before, *commits)
    asked = "".join(f"{sha} {old}\n" for old, sha in zip(earlier, commits, strict=False))
    found = read(
        repository,
        *("diff-tree", "--stdin", "-r", "--raw", "--no-renames", "--no-abbrev", "-z"),
        stdin=asked.encode(),
    )
    steps = dict(_grouped(iter(found.text.split("\0")[:-1])))
    return [steps.get(sha, []) for sha in commits]


def _grouped(fields: Iterator[str]) -> Iterator[tuple[str, Step]]:
    step: Step = []
    for field in fields:
        if not field.startswith(":"):
            step = []
            yield field.strip(), step
            continue
        old_mode, new_mode, old_id, new_id, _ = field[1:].split(" ")
        step.append(Touch(next(fields), _entry(old_mode, old_id), _entry(new_mode, new_id)))


def _entry(mode: str, blob: str) -> Entry | None:
    return Entry(mode, blob) if mode.strip("0") else None
