"""The patches of a folder in order: a quilt series, or files and mailboxes by name."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ciwm.errors import UsageError
from ciwm.upstream.names import readable_path, readable_text
from ciwm.upstream.objects import raw_objects
from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.git import Repository

SERIES = ("series", ".patches")  # quilt's, and the one of Electron's patch folders
_SUFFIXES = (".patch", ".diff", ".mbox", ".eml")
_REGULAR = ("100644", "100755")
_DIFF = re.compile(rb"^(?:diff --git |Index: |--- [^\n]+\n\+\+\+ )", re.MULTILINE)
_MAILBOX = re.compile(rb"From \S+ +\w{3} \w{3} +\d+ [\d:]+ \d{4}")
_HEADER = re.compile(rb"(?:From|Date|Subject|Message-I[dD]|X-[\w-]+|MIME-Version): ")


@dataclass(frozen=True)
class Patch:
    """One patch: what it is called, what it says, and its diff."""

    name: str
    header: str
    diff: bytes
    strip: int = 1
    reverse: bool = False
    missing: bool = False

    @property
    def subject(self) -> str:
        """The first line that says what it does; a DEP-3 field's value where there is one."""
        field_of = re.search(r"^(?:Subject|Description): *(.+)$", self.header, re.MULTILINE)
        lines = (line.strip(" #") for line in self.header.splitlines())
        found = field_of[1] if field_of else next(filter(None, lines), "")
        return re.sub(r"^\[PATCH[^\]]*\] *", "", found.strip())


@dataclass(frozen=True)
class Queue:
    """The patches in order, how the order is known, and what was left out."""

    folder: str
    order: str
    patches: tuple[Patch, ...]
    notes: tuple[str, ...] = ()


@dataclass
class _Folder:
    """The files below the folder, by path in it."""

    path: str
    blobs: Mapping[str, str]
    notes: list[str] = field(default_factory=list)


def find_queue(repository: Repository, revision: str, folder: str) -> Queue:
    """The queue in a folder at a revision; raises UsageError when there is none."""
    found = _folder(repository, revision, folder)
    series = next((name for name in SERIES if name in found.blobs), None)
    if series is None:
        names = sorted(path for path in found.blobs if path.endswith(_SUFFIXES))
        entries = [(name, 1, False) for name in names]
    else:
        entries = _series(raw_objects(repository, [found.blobs[series]])[found.blobs[series]])
        _note_unlisted(found, series, {name for name, _, _ in entries})
    if not entries:
        raise UsageError(
            f"{readable_path(found.path)} holds no patches at {revision[:12]}",
            "[upstream] patches names the folder of a series file, or of *.patch files",
        )
    contents = raw_objects(repository, {found.blobs[n] for n, _, _ in entries if n in found.blobs})
    patches: list[Patch] = []
    for name, strip, reverse in entries:
        if name not in found.blobs:
            patches.append(Patch(name, "", b"", missing=True))
            continue
        parts = read_patches(repository, name, contents.get(found.blobs[name], b""))
        patches += [replace(part, strip=strip, reverse=reverse) for part in parts if part.diff]
        if not any(part.diff for part in parts):
            found.notes.append(f"{readable_path(name)} holds no diff and is left out")
    order = f"the file {series}" if series else "the names of the files"
    return Queue(readable_path(found.path), order, tuple(patches), tuple(found.notes))


def _folder(repository: Repository, revision: str, folder: str) -> _Folder:
    path = str(PurePosixPath(folder.removeprefix("./")))
    if path.startswith("/") or ".." in PurePosixPath(path).parts:
        raise UsageError(
            f"[upstream] patches is no folder of the repository: {folder}",
            "name it from the repository's top, as in patches/",
        )
    listed = read(repository, "ls-tree", "-r", "-z", "--full-tree", revision, "--", f"{path}/")
    if path == ".":
        listed = read(repository, "ls-tree", "-r", "-z", "--full-tree", revision)
    prefix = "" if path == "." else f"{path}/"
    blobs, odd = {}, 0
    for entry in listed.text.split("\0")[:-1]:
        meta, name = entry.split("\t", 1)
        mode, _, blob = meta.split(" ")
        if mode in _REGULAR:
            blobs[name.removeprefix(prefix)] = blob
        elif name.endswith(_SUFFIXES):
            odd += 1
    if not listed.text:
        raise UsageError(
            f"{revision[:12]} has no folder {readable_path(path)}/",
            'say where the patches are: [upstream] patches = "patches/"',
        )
    notes = [f"{odd} patches are links or submodules, and are left out"] if odd else []
    return _Folder(path, blobs, notes)


def _series(content: bytes) -> list[tuple[str, int, bool]]:
    """Names with the strip level (-p0) and whether to reverse (-R), as quilt has them."""
    entries = []
    for line in content.decode("utf-8", "surrogateescape").splitlines():
        words = re.sub(r"(?:^|\s)#.*", "", line).split()
        if not words:
            continue
        strip = next((int(word[2:]) for word in words[1:] if re.fullmatch(r"-p\d+", word)), 1)
        entries.append((words[0], strip, "-R" in words[1:]))
    return entries


def _note_unlisted(folder: _Folder, series: str, listed: set[str]) -> None:
    others = sorted(n for n in folder.blobs if n.endswith(_SUFFIXES) and n not in listed)
    if others:
        folder.notes.append(
            f"{len(others)} patch files are not in {series} and are left out "
            f"(the first: {readable_path(others[0])})"
        )


def read_patches(repository: Repository, name: str, content: bytes) -> list[Patch]:
    """The patches in one file: several in a mailbox, else one."""
    if content.partition(b"\n")[0].endswith(b"\r"):
        content = content.replace(b"\r\n", b"\n")  # a checkout's line ends, not the patch's
    if _MAILBOX.match(content):
        mails = _split(repository, content)
    elif _HEADER.match(content):
        mails = [content]
    else:
        diff = _DIFF.search(content)
        start = diff.start() if diff else len(content)
        return [Patch(name, _text(content[:start]), content[start:])]
    named = [name] if len(mails) == 1 else [f"{name}#{i}" for i in range(1, len(mails) + 1)]
    return [_mail(repository, each, mail) for each, mail in zip(named, mails, strict=True)]


def _split(repository: Repository, mailbox: bytes) -> list[bytes]:
    with tempfile.TemporaryDirectory(prefix="ciwm-mails-") as folder:
        read(repository, "mailsplit", "--keep-cr", f"-o{folder}", stdin=mailbox)
        return [path.read_bytes() for path in sorted(Path(folder).iterdir())]


def _mail(repository: Repository, name: str, mail: bytes) -> Patch:
    """A mail as `git am` reads it: encodings undone, the message apart from the diff."""
    with tempfile.TemporaryDirectory(prefix="ciwm-mail-") as folder:
        message, diff = Path(folder, "message"), Path(folder, "diff")
        parts = (str(message), str(diff))
        info = read(repository, "mailinfo", "-b", "--encoding=UTF-8", *parts, stdin=mail)
        subject = re.search(rb"^Subject: (.*)$", info.stdout, re.MULTILINE)
        header = b"Subject: " + (subject[1] if subject else b"") + b"\n\n" + message.read_bytes()
        return Patch(name, _text(header), diff.read_bytes())


def _text(header: bytes) -> str:
    return readable_text(header.decode("utf-8", "surrogateescape")).strip()


def names_of(patches: Sequence[Patch]) -> tuple[str, ...]:
    """The patches' names as a record can hold them."""
    return tuple(readable_path(patch.name) for patch in patches)
