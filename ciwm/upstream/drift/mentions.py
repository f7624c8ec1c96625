"""Where the sources of a revision name something at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from ciwm.upstream.drift.index import Index


def mentions(index: Index, names: Collection[str]) -> dict[str, str]:
    """The first `path:line` at which each of some identifiers occurs; absent where none does."""
    found: dict[str, str] = {}
    if not names:
        return found
    pattern = re.compile(rb"\b(" + b"|".join(re.escape(name.encode()) for name in names) + rb")\b")
    paths = {m.blob: m.path for m in index.modules.values() if m.path}
    for blob, content in index.tree.contents(paths):
        for match in pattern.finditer(content or b""):
            name = match[1].decode()
            if name not in found:
                line = (content or b"").count(b"\n", 0, match.start()) + 1
                found[name] = f"{paths[blob]}:{line}"
    return found
