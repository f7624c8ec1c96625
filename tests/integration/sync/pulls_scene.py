"""A fork whose upstream is on the bed's GitHub, and pull requests whose figures are known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from ciwm.config import UpstreamConfig
from ciwm.github import Patience, connect
from ciwm.upstream.pulls.incoming import Merge
from ciwm.upstream.pulls.section import PullsQuestion, pulls_section
from tests.github_bed.pulls import BedPull, Event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.git import Repository
    from ciwm.records.sync_pulls import Pulls
    from tests.github_bed.bed import GitHubBed
    from tests.integration.sync.git_scene import Scene

NOW = datetime(2026, 9, 14, 12, tzinfo=timezone.utc)
QUICK = Patience(retries=1, backoff_s=0.01, total_wait_s=3, timeout_s=2)


def day(number: float) -> datetime:
    """So many days before NOW."""
    return NOW - timedelta(days=number)


def merged(number: int, author: str = "jane", *, made: float = 100, after: float = 5) -> BedPull:
    """A pull request merged `after` days, answered after one day."""
    answer = Event("review", day(made - 1), "reviewer")
    return BedPull(number, author, day(made), "MERGED", day(made - after), timeline=(answer,))


def closed(number: int, author: str = "jane", *, made: float = 100, after: float = 8) -> BedPull:
    """A pull request closed without a merge, never answered."""
    return BedPull(number, author, day(made), "CLOSED", day(made - after))


def waiting(number: int, author: str = "jane", *, made: float = 12) -> BedPull:
    """An open pull request that nobody answered."""
    return BedPull(number, author, day(made))


def many(count: int, author: str = "jane") -> Iterator[BedPull]:
    """One pull request every few hours over 500 days: two in four merged, one closed, one open."""
    for number in range(1, count + 1):
        made = 500 * (count - number + 1) / count
        kind = (merged, closed, merged, waiting)[number % 4]
        pull = kind(number, author, made=made)
        yield replace(pull, state="OPEN", ended=None) if pull.ended and pull.ended > NOW else pull


def merge_of(scene: Scene) -> Merge:
    """The merge of main into the branch fork."""
    base = scene.git("merge-base", "main", "fork")
    return Merge(base, scene.git("rev-parse", "main"), scene.git("rev-parse", "fork"))


@dataclass
class Question:
    """Asks for the section as the command does, with little patience."""

    bed: GitHubBed
    repository: Repository
    merge: Merge
    config: dict[str, object] = field(default_factory=dict)

    def __call__(
        self,
        *,
        token: str | None = None,
        offline: bool = False,
        now: datetime = NOW,
        **config: object,
    ) -> Pulls:
        declared: dict[str, object] = {"github": self.bed.repository, "authors": ("@jane",)}
        asked = PullsQuestion(
            repository=self.repository,
            merge=self.merge,
            config=UpstreamConfig.model_validate({**declared, **self.config, **config}),
            hub=None,
            api_url=self.bed.url,
            now=now,
            why="offline" if offline else "",
        )
        if offline:
            return pulls_section(asked)
        with connect(token or self.bed.token, self.bed.url, patience=QUICK) as hub:
            return pulls_section(replace(asked, hub=hub))

    @property
    def requests(self) -> int:
        """How many requests reached GitHub so far."""
        return len(self.bed.exchanges)
