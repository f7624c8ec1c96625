"""The test coverage of a bump: where each side's files are, and what they say together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.coverage import changed_lines, compared, read_coverage
from ciwm.errors import CiwmError
from ciwm.records.coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.coverage import Hits
    from ciwm.records.build import BuildRecord
    from ciwm.story.bump import Bump

_FILES = 100


def coverage_of(bump: Bump, builds: Sequence[BuildRecord]) -> Coverage | None:
    """What is known of both sides; None where no file is asked for. Failures are problems of it."""
    asked = {
        "base": (bump.base_config.coverage.files, bump.coverage_base),
        "head": (bump.config.coverage.files, bump.coverage_head),
    }
    if not any(globs or stated for globs, stated in asked.values()):
        return None
    places = [Path(build.directory) for build in builds]
    folders = {"base": places[:1], "head": [*places[1:2], bump.repository.path]}
    hits: dict[str, Hits | None] = {}
    files: dict[str, list[str]] = {}
    problems = []
    for side, (globs, stated) in asked.items():
        try:
            found = _found(side, globs, stated, folders[side])
            hits[side], files[side] = read_coverage(found), [path.name for path in found]
        except CiwmError as error:
            hits[side] = None
            problems.append(f"coverage of {side}: {error.message}")
    if hits["head"] is None:
        return Coverage(problems=tuple(problems))
    try:
        repository = bump.repository.from_top()
        changed = changed_lines(repository, bump.base.sha, bump.head.sha)
        listed = repository.run("ls-tree", "-r", "-z", "--name-only", bump.head.sha).text
    except CiwmError as error:
        return Coverage(problems=(*problems, f"changed lines: {error.message}"))
    tracked = listed.split("\0")[:-1]
    told = compared(hits["base"], hits["head"], changed, tracked=tracked, files=files)
    return told.model_copy(update={"problems": tuple(problems)})


def _found(
    side: str, globs: Sequence[str], stated: Sequence[Path], folders: Sequence[Path]
) -> list[Path]:
    """The files that were named; else those that the globs match in the first folder with any."""
    from ciwm.errors import UsageError  # noqa: PLC0415

    if stated:
        return list(stated)
    for folder in folders:
        try:
            paths = sorted({path for one in globs for path in folder.glob(one) if path.is_file()})
        except (ValueError, NotImplementedError) as error:
            raise UsageError(f"[coverage] files: {error}") from error
        if paths:
            return paths[:_FILES]
    wanted = ", ".join(globs) or "nothing is configured"
    raise UsageError(f"no file of {side} matches [coverage] files ({wanted})")
