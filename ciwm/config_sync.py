"""[sync]: what staying in sync may cost, what is bad form, and what counts as much debt."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ciwm.config_section import Section

HygieneCheck = Literal["squashed", "markers", "evil", "pin"]


class BudgetConfig(Section):
    """The most that is allowed; what is not stated has no limit.

    intrusive_lines  lines added and removed in files of upstream's, removed files included
    behind_days      days from the merge base to the upstream compared with
    behind_commits   upstream commits that the downstream lacks
    conflicts        files in conflict in the trial merge
    hard_drift       hard findings of API drift under a plugin
    failing_patches  patches of a queue that do not apply
    """

    intrusive_lines: int | None = Field(default=None, ge=0)
    behind_days: float | None = Field(default=None, ge=0)
    behind_commits: int | None = Field(default=None, ge=0)
    conflicts: int | None = Field(default=None, ge=0)
    hard_drift: int | None = Field(default=None, ge=0)
    failing_patches: int | None = Field(default=None, ge=0)


class HygieneConfig(Section):
    """Which checks count like a budget that is overrun; all of them are reported in any case.

    squashed  a sync with one parent whose ancestry nothing makes up for
    markers   conflict markers in files that the downstream changed, but for those that a glob of
              `ignore` matches (test data, say)
    evil      the newest sync has edits outside of its conflicts
    pin       the pin was last moved to an older upstream commit
    """

    fail_on: tuple[HygieneCheck, ...] = ()
    ignore: tuple[str, ...] = ()


class Levels(Section):
    """From `medium` on a figure is a medium reason for concern, from `high` on a high one."""

    medium: float = Field(ge=0)
    high: float = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Levels:
        if self.high < self.medium:
            raise ValueError("high must not be below medium")
        return self


class RatingConfig(Section):
    """What counts as medium and high; the rating is the highest level any figure reaches.

    conflict_pct     percentage of past syncs with a conflict
    unmerged_pct     percentage of our upstream pull requests not merged after 30 days
    The others are those of the budget.
    """

    intrusive_lines: Levels = Levels(medium=200, high=2000)
    conflicts: Levels = Levels(medium=1, high=10)
    conflict_pct: Levels = Levels(medium=30, high=70)
    behind_days: Levels = Levels(medium=14, high=60)
    unmerged_pct: Levels = Levels(medium=40, high=75)
    hard_drift: Levels = Levels(medium=1, high=10)
    failing_patches: Levels = Levels(medium=1, high=10)


class SyncConfig(Section):
    """With `block`, `ciwm ci` fails a change that ends over budget; by its base's configuration.

    A report looks for culprits, and replays past syncs it does not know, for about so many seconds.
    """

    block: bool = False
    culprits_s: float = Field(default=20, ge=0)
    history_s: float = Field(default=10, ge=0)
    budget: BudgetConfig = BudgetConfig()
    hygiene: HygieneConfig = HygieneConfig()
    rating: RatingConfig = RatingConfig()
