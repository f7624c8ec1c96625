"""Objects by id, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.upstream.reading import read

if TYPE_CHECKING:
    from collections.abc import Collection

    from ciwm.git import Repository


def raw_objects(repository: Repository, ids: Collection[str]) -> dict[str, bytes]:
    """The contents of objects, from `cat-file --batch`; those that are not here are left out."""
    asked = "".join(f"{object_id}\n" for object_id in ids).encode()
    stream = read(repository, "cat-file", "--batch", stdin=asked).stdout
    contents = {}
    position = 0
    while position < len(stream):
        end = stream.index(b"\n", position)
        object_id, *kind = stream[position:end].decode("ascii").split(" ")
        position = end + 1
        if len(kind) > 1:  # else: "ID missing"
            size = int(kind[1])
            contents[object_id] = stream[position : position + size]
            position += size + 1
    return contents
