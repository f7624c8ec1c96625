"""Histories full of what makes merges hard, by the hundred: written by `git fast-import`."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.integration.sync.git_scene import new_repository, publish_upstream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.sync.git_scene import Scene

FOLDERS = ("", "a/", "a/b/", "c/", "c/d/", "e/")
NAMES = ("one.py", "two.py", "three.py", "__init__.py", "four.txt", "five")
File = tuple[str, str]  # mode, content


@dataclass
class Side:
    """A branch: its tree, and the stream that makes it."""

    name: str
    draw: random.Random
    tree: dict[str, File]
    stream: list[str] = field(default_factory=list)
    clock: int = 1_750_000_000

    def commit(self, after: dict[str, File], parent: str | None) -> None:
        """Add the commit that turns the tree into another."""
        self.clock += 3600
        message = f"{self.name} at {self.clock}"
        self.stream += [
            f"commit refs/heads/{self.name}",
            f"committer A Developer <developer@example.org> {self.clock} +0000",
            f"data {len(message)}",
            message,
            *([f"from {parent}"] if parent else []),
            *(f"D {path}" for path in self.tree if path not in after),
        ]
        for path, (mode, content) in after.items():
            if self.tree.get(path) != (mode, content):
                self.stream += [f"M {mode} inline {path}", f"data {len(content)}", content]
        self.tree = after

    def step(self) -> None:
        """One commit of one to three random deeds."""
        after = dict(self.tree)
        for _ in range(self.draw.choice((1, 1, 2, 3))):
            _deed(after, self.draw)
        self.commit(after, None)


def wild_history(path: Path, seed: int, upstream: int = 40, fork: int = 12) -> Scene:
    """A fork and its upstream that edit, move, copy, retype, remove and recreate files."""
    draw = random.Random(seed)
    base = Side("main", draw, {})
    tree = {
        folder + name: ("100644", _text(draw))
        for folder in FOLDERS
        for name in draw.sample(NAMES, draw.randrange(1, 5))
        if folder + name not in ("a", "c", "e")
    }
    base.commit(tree, None)
    ours = Side("fork", draw, dict(tree))
    ours.stream += ["reset refs/heads/fork", "from refs/heads/main", ""]
    ours.stream, start = [], ours.stream
    for _ in range(upstream):
        base.step()
    for _ in range(fork):
        ours.step()
    scene = new_repository(path)
    first = base.stream.index("commit refs/heads/main", 1)
    lines = [*base.stream[:first], *start, *base.stream[first:], *ours.stream, "done", ""]
    scene.raw("fast-import", "--quiet", "--done", stdin="\n".join(lines).encode())
    publish_upstream(scene, "main")
    scene.git("symbolic-ref", "HEAD", "refs/heads/fork")
    scene.git("reset", "-q", "--hard")
    return scene


def _text(draw: random.Random) -> str:
    """Few kinds of lines, so that many files resemble each other."""
    kind = draw.randrange(6)
    length = draw.choice((0, 3, 8, 20, 20, 30))
    return "".join(f"line {number} of kind {kind}\n" for number in range(length))


def _edited(text: str, draw: random.Random) -> str:
    lines = text.splitlines(keepends=True) or [""]
    for _ in range(draw.choice((1, 1, 4, len(lines)))):
        lines[draw.randrange(len(lines))] = f"edit {draw.randrange(50)}\n"
    return "".join(lines)


def _deed(tree: dict[str, File], draw: random.Random) -> None:
    path = draw.choice(sorted(tree))
    mode, content = tree[path]
    deed = draw.randrange(14)
    if deed < 5:
        tree[path] = (mode, _edited(content, draw))
    elif deed == 5 and len(tree) > 3:
        del tree[path]
    elif deed == 6:
        _put(tree, draw.choice(FOLDERS) + draw.choice(NAMES), (mode, _text(draw)))
    elif deed == 7:
        _put(tree, draw.choice(FOLDERS) + draw.choice(NAMES), (mode, _edited(content, draw)))
    elif deed in (8, 9):
        del tree[path]
        moved = content if deed == 8 else _edited(content, draw)
        _put(tree, f"{draw.choice(FOLDERS)}{draw.choice(NAMES)}", (mode, moved))
    elif deed == 10:
        _move_folder(tree, draw)
    elif deed == 11:
        tree[path] = ("100755" if mode == "100644" else "100644", content)
    elif deed == 12 and draw.random() < 0.3:
        tree[path] = ("120000", "one.py")
    elif deed == 13 and draw.random() < 0.5:
        _put(tree, draw.choice(("a", "c", "c/d", "one.py/inside", "e/five/x")), ("100644", content))


def _put(tree: dict[str, File], path: str, file: File) -> None:
    """Put a file, and take away what would stand in its way."""
    for other in list(tree):
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            del tree[other]
    tree[path] = file


def _move_folder(tree: dict[str, File], draw: random.Random) -> None:
    old = draw.choice([folder for folder in FOLDERS if folder])
    new = draw.choice(("moved/", "a/", "c/", "e/deep/", "new/"))
    inside = [path for path in tree if path.startswith(old)]
    for path in inside:
        file = tree.pop(path, None)
        if file is not None:
            _put(tree, new + path.removeprefix(old), file)
