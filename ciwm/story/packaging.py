"""The package stage: an image of each side, and whose fault it is when there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.error_line import error_line
from ciwm.errors import BuildError

if TYPE_CHECKING:
    from ciwm.records.package import PackageRecord
    from ciwm.story.story import Story


def add_packages(story: Story) -> None:
    """Make and try an image of each side that built, where the configuration asks for it."""
    from ciwm.launch.packaging import package  # noqa: PLC0415  each stage loads what it needs

    bump = story.bump
    wanted = bump.config.package.command or bump.base_config.package.command
    if not wanted or story.stop.is_set() or len(story.builds) != 2:  # noqa: PLR2004
        return
    base, head = story.builds
    sides = (("base", base, bump.base_config), ("head", head, bump.config))
    with story.stage("package"):
        for side, build, config in sides:
            if config.package.command is None or not build.ok:
                continue
            record = package(
                build, "base" if side == "base" else "head", config, story.stop, story.progress
            )
            story.packages = (*story.packages, record)
            story.progress(f"package of {side}: {record.status}, {record.package_s:.1f} s")
        _refuse_lost(story)


def head_is_lost(packages: tuple[PackageRecord, ...]) -> bool:
    """Whether head's image could not be made, or does not work."""
    return any(one.side == "head" and one.status in _BAD for one in packages)


_BAD = ("failed", "smoke failed", "timeout")


def _refuse_lost(story: Story) -> None:
    """Raise what makes the stage a failed one: no image of head, for which base may have one."""
    found = {one.side: one for one in story.packages}
    head, base = found.get("head"), found.get("base")
    if head is None and base is not None and story.builds[1].ok:
        raise BuildError("head declares no [package] command any more, and base does")
    if head is None or head.ok or head.status == "interrupted":
        return
    also = "base's is fine" if base is not None and base.ok else "there is none of base either"
    why = error_line(head.log_tail) if head.log_tail else ""
    raise BuildError(
        f"the image of head: {head.status}" + (f": {why}" if why else "") + f" ({also})",
        f"its log: {head.log}",
    )
