"""What a map is made from, and what is known while it is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ciwm.opmap.observe import observe_all
from ciwm.opmap.seen import seen_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ciwm.config import Config
    from ciwm.opmap.observe import Observed, Site
    from ciwm.opmap.seen import SeenOps
    from ciwm.opmap.subjects import Subject
    from ciwm.records.manifest import Manifest
    from ciwm.records.opmap import MapProblem, MapStage


@dataclass(frozen=True)
class MapRequest:
    """What is mapped, where, against which target, and by which stages."""

    config: Config
    site: Site
    stages: tuple[MapStage, ...]
    only: tuple[str, ...] = ()
    manifest: Manifest | None = None
    suggest: bool = False
    repository: str = ""
    revision: str = ""
    say: Callable[[str], None] = lambda _line: None


@dataclass
class Making:
    """What is known so far; later stages read what earlier ones saw."""

    request: MapRequest
    subjects: Sequence[Subject]
    library: str = ""
    seen: dict[MapStage, dict[str, Observed]] = field(default_factory=dict)
    problems: list[MapProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(
        self, stage: MapStage, name: str, options: Mapping[str, Any] | None = None
    ) -> dict[str, Observed]:
        """Observe a stage on every subject, and keep what it saw and what went wrong."""
        self.request.say(f"{stage}: {len(self.subjects)} workloads")
        found = observe_all(name, self.subjects, self.request.site, options)
        self.seen[stage] = found
        self.problems += [
            each.problem.model_copy(update={"stage": stage})
            for each in found.values()
            if each.problem
        ]
        return found

    def ops(self, stage: MapStage) -> dict[str, SeenOps]:
        """The operators that a stage saw, by subject; subjects with a problem are left out."""
        return {
            name: seen_ops(name, each)
            for name, each in self.seen.get(stage, {}).items()
            if each.problem is None
        }
