"""The lines of a file that can matter to one name, found without parsing.

Two versions of a file whose lines for a name are the same define the name in the same way; only
where they differ is it worth parsing them.
"""

from __future__ import annotations

import hashlib
import re


def region(content: bytes, name: str) -> str:
    """A digest of all lines that hold an identifier, with the deeper ones below and their class."""
    if not name:
        return "whole"
    name_bytes = name.encode("utf-8", "surrogateescape")
    word = re.compile(rb"\b" + re.escape(name_bytes) + rb"\b")
    if not word.search(content):
        return "absent"
    kept = hashlib.sha256()
    inside, owner, owner_depth = -1, b"", 0
    for line in content.split(b"\n"):
        bare = line.lstrip()
        if not bare:
            continue
        depth = len(line) - len(bare)
        if inside >= 0 and depth <= inside and bare[:1] not in b")]}":
            inside = -1
        if bare.startswith(b"class "):
            owner, owner_depth = line, depth
        starts = name_bytes in line and word.search(line) is not None
        if starts and inside < 0:
            inside = depth
            kept.update(owner if owner_depth < depth else b"")
        if starts or inside >= 0:
            kept.update(line + b"\n")
    return kept.hexdigest()
