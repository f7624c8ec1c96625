"""What a map is made from, and what is known while it is made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ciwm.opmap.observe import observe, observe_all
from ciwm.opmap.seen import seen_ops
from ciwm.opmap.subjects import INTERPRETER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ciwm.config import Config
    from ciwm.opmap.observe import Observed, Site
    from ciwm.opmap.seen import SeenOps
    from ciwm.opmap.subjects import Subject
    from ciwm.records.manifest import Manifest
    from ciwm.records.opmap import MapProblem, MapStage


COMPILE_TIMEOUT_S = 600.0
NOT_BUILT = "the null device is not compiled yet"  # the worker's words


def _waits(observed: Observed) -> bool:
    return observed.problem is not None and observed.problem.detail == NOT_BUILT


@dataclass(frozen=True)
class MapRequest:
    """What is mapped, where, against which target, and by which stages."""

    config: Config
    site: Site
    stages: tuple[MapStage, ...]
    only: tuple[str, ...] = ()
    manifest: Manifest | None = None
    suggest: bool = False
    prove: bool = True  # each step of the queue by strict runs, which take the longest
    repository: str = ""
    revision: str = ""
    say: Callable[[str], None] = lambda _line: None


@dataclass
class Making:
    """What is known so far; later stages read what earlier ones saw."""

    request: MapRequest
    subjects: Sequence[Subject]
    in_python: bool = False
    seen: dict[MapStage, dict[str, Observed]] = field(default_factory=dict)
    problems: list[MapProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(
        self, stage: MapStage, name: str, options: Mapping[str, Any] | None = None
    ) -> dict[str, Observed]:
        """Observe a stage on every subject, and keep what it saw and what went wrong."""
        number = len(self.subjects)
        self.request.say(f"{stage}: {number} workload{'' if number == 1 else 's'}")
        found = observe_all(name, self.subjects, self.request.site, self.with_device(options))
        if found and all(_waits(each) for each in found.values()):
            self._compile()
            found = observe_all(name, self.subjects, self.request.site, self.with_device(options))
        self.seen[stage] = found
        self.problems += [
            each.problem.model_copy(update={"stage": stage})
            for each in found.values()
            if each.problem
        ]
        return found

    def with_device(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The options of a stage on the null device: whether the one in Python stands in."""
        return {"python": self.in_python, **(options or {})}

    def _compile(self) -> None:
        """Compile the null device for the site's torch; without a compiler Python must do."""
        self.request.say("compiling the null device, once for this torch")
        site = replace(self.request.site, timeout_s=COMPILE_TIMEOUT_S)
        seen = observe("build", INTERPRETER, site)
        if seen.problem is None:
            return
        self.in_python = True
        why = f"the null device cannot be compiled ({seen.problem.detail}), and runs in Python"
        self.warnings.append(f"{why}, which sees less; a C++ compiler mends it (g++)")

    def ops(self, stage: MapStage) -> dict[str, SeenOps]:
        """The operators that a stage saw, by subject; subjects with a problem are left out."""
        return {
            name: seen_ops(name, each)
            for name, each in self.seen.get(stage, {}).items()
            if each.problem is None
        }
