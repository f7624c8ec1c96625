"""[package] of the configuration: the container image that is made of each side, and tried."""

from __future__ import annotations

from pydantic import Field, field_validator

from ciwm.config_section import Section


class PackageConfig(Section):
    """What makes a container image of a build, and what shows that it runs.

    Both are run by `sh -ec` in the worktree of a build that succeeded, with the recipe's variables
    and CIWM_IMAGE, a name for the image that no other build has. Removing the image is theirs.
    """

    command: str | None = None
    """Makes the image: `buildah bud --isolation chroot -t $CIWM_IMAGE .`, say. None: no stage."""
    smoke: str | None = None
    """Run afterwards, to see the image work; it fails when this ends with another status than 0."""
    timeout_s: float = Field(default=3600, gt=0)
    """Seconds after which either is stopped."""

    @field_validator("command", "smoke")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and (not value.strip() or "\0" in value):
            raise ValueError("must not be empty or hold a NUL character")
        return value
