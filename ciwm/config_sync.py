"""[sync]: what staying in sync may cost, what is bad form, and what counts as much debt."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ciwm.config_section import Section

HygieneCheck = Literal["squashed", "markers", "evil", "pin"]


class BudgetConfig(Section):
    """The most that is allowed; what is not stated has no limit."""

    intrusive_lines: int | None = Field(default=None, ge=0)
    """Lines added and removed in files of upstream's, removed files included."""
    behind_days: float | None = Field(default=None, ge=0)
    """Days from the merge base to the upstream compared with."""
    behind_commits: int | None = Field(default=None, ge=0)
    """Upstream commits that are lacking."""
    conflicts: int | None = Field(default=None, ge=0)
    """Files in conflict in the trial merge."""
    hard_drift: int | None = Field(default=None, ge=0)
    """Hard findings of API drift under a plugin."""
    failing_patches: int | None = Field(default=None, ge=0)
    """Patches of a queue that do not apply."""


class HygieneConfig(Section):
    """Which checks count like a budget that is overrun; all of them are reported in any case.

    squashed: a sync with one parent whose ancestry nothing makes up for;
    markers: conflict markers in files that the downstream changed;
    evil: the newest sync has edits outside of its conflicts (as a check to fail on, it replays it);
    pin: the pin was last moved to an older upstream commit.
    """

    fail_on: tuple[HygieneCheck, ...] = ()
    """The checks that end with 1; all are reported in any case."""
    ignore: tuple[str, ...] = ()
    """Globs of files whose conflict markers are meant to be there (test data, say)."""


class Levels(Section):
    """From `medium` on a figure is a medium reason for concern, from `high` on a high one."""

    medium: float = Field(ge=0)
    """From here on it is a medium reason for concern."""
    high: float = Field(ge=0)
    """From here on a high one."""

    @model_validator(mode="after")
    def _ordered(self) -> Levels:
        if self.high < self.medium:
            raise ValueError("high must not be below medium")
        return self


class RatingConfig(Section):
    """What counts as medium and high; the rating is the highest level any figure reaches."""

    intrusive_lines: Levels = Levels(medium=200, high=2000)
    """Lines changed in upstream's own files."""
    conflicts: Levels = Levels(medium=1, high=10)
    """Files in conflict."""
    conflict_pct: Levels = Levels(medium=30, high=70)
    """Past syncs with a conflict, in percent; not counted below five that were replayed."""
    behind_days: Levels = Levels(medium=14, high=60)
    """Days behind."""
    unmerged_pct: Levels = Levels(medium=40, high=75)
    """Our upstream pull requests not merged after 30 days, in percent."""
    hard_drift: Levels = Levels(medium=1, high=10)
    """Hard findings of API drift."""
    failing_patches: Levels = Levels(medium=1, high=10)
    """Patches of a queue that do not apply."""


class SyncConfig(Section):
    """With `block`, `ciwm ci` fails a change that ends over budget; by its base's configuration.

    A report looks for culprits, and replays past syncs it does not know, for about so many seconds.
    """

    block: bool = False
    """Whether `ciwm ci` fails a change that ends over budget."""
    culprits_s: float = Field(default=0, ge=0)
    """Seconds, about, for the upstream commits that bring the conflicts."""
    history_s: float = Field(default=0, ge=0)
    """Seconds, about, for replaying past syncs that are not known yet."""
    pulls: bool = False
    """Whether `ciwm ci` asks GitHub how ours fare upstream; needs [upstream] github."""
    budget: BudgetConfig = BudgetConfig()
    """The most that is allowed; what is not stated has no limit."""
    hygiene: HygieneConfig = HygieneConfig()
    """Which bad form counts like a budget that is overrun."""
    rating: RatingConfig = RatingConfig()
    """What counts as much debt."""

    @property
    def wanted_history_s(self) -> float:
        """Seconds for past syncs: enough for the newest one, where a check is to look at it."""
        return max(self.history_s, 1.0 if "evil" in self.hygiene.fail_on else 0.0)
