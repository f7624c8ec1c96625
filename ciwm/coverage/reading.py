"""Reading coverage files: coverage.py's JSON, Cobertura's XML, lcov's tracefiles."""

from __future__ import annotations

import json
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from ciwm.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Hits = dict[str, dict[int, bool]]  # by path as written, by line: whether a test reached it
SIZE_LIMIT_BYTES = 64 << 20
_KINDS = "coverage.py's JSON, Cobertura's XML and lcov's tracefiles are read"


def read_coverage(paths: Iterable[Path]) -> Hits:
    """What all files together say: a line that one of them has as reached is reached.

    Raises UsageError for a file that is none of the three kinds, or is damaged.
    """
    joined: Hits = {}
    for path in paths:
        for name, lines in _read(path).items():
            known = joined.setdefault(name, {})
            for line, reached in lines.items():
                known[line] = reached or known.get(line, False)
    return joined


def _read(path: Path) -> Hits:
    try:
        if path.stat().st_size > SIZE_LIMIT_BYTES:
            raise UsageError(f"{path} is larger than {SIZE_LIMIT_BYTES >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    reader = {b"{": _coverage_py, b"<": _cobertura}.get(start, _lcov)
    try:
        found = reader(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ET.ParseError) as bad:
        raise UsageError(f"{path} is no coverage file: {_words(bad)}", _KINDS) from bad
    if not any(found.values()):
        raise UsageError(f"{path} tells of no line", _KINDS)
    return found


def _words(error: BaseException) -> str:
    return f"{type(error).__name__} {' '.join(str(error).split())[:120]}".strip()


def _coverage_py(data: bytes) -> Hits:
    files = json.loads(data.decode("utf-8-sig"))["files"]
    return {
        str(name): {
            **{int(line): True for line in said["executed_lines"]},
            **{int(line): False for line in said["missing_lines"]},
        }
        for name, said in files.items()
    }


def _cobertura(data: bytes) -> Hits:
    if b"<!ENTITY" in data:
        raise ValueError("it declares entities")
    root = ET.fromstring(data)  # noqa: S314  no entities; nothing outside is fetched
    sources = [text.strip() for one in root.iterfind("sources/source") if (text := one.text)]
    found: Hits = {}
    for each in root.iter("class"):
        name = each.attrib["filename"]
        # one source is the folder that all names are in; of several it is unknown which
        if len(sources) == 1 and not name.startswith("/"):
            name = str(PurePosixPath(sources[0]) / name)
        lines = found.setdefault(name, {})
        for line in each.iterfind("lines/line"):
            number = int(line.attrib["number"])
            lines[number] = int(line.attrib["hits"]) > 0 or lines.get(number, False)
    return found


def _lcov(data: bytes) -> Hits:
    found: Hits = {}
    lines: dict[int, bool] | None = None
    for record in data.decode("utf-8").splitlines():
        kind, _, said = record.strip().partition(":")
        if kind == "SF":
            lines = found.setdefault(said, {})
        elif kind == "DA" and lines is not None:
            number, hits, *_ = said.split(",")
            lines[int(number)] = int(hits) > 0 or lines.get(int(number), False)
        elif kind == "end_of_record":
            lines = None
    return found
