"""Several runs of one tool in one file: each is a launch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ciwm.ingest.measured import Measured


def as_launches(runs: Iterable[Iterable[Measured]]) -> tuple[Measured, ...]:
    """The same metric of several runs as one with a launch of each; a failure stays one."""
    found: dict[tuple[str, str, str], Measured] = {}
    for run in runs:
        for one in run:
            key = (one.series, one.metric, one.failure)
            known = found.get(key)
            launches = (*known.launches, *one.launches) if known is not None else one.launches
            found[key] = replace(known or one, launches=launches)
    return tuple(found.values())
