"""Coverage: how much of each side its tests reach, and which changed lines none does."""

from __future__ import annotations

from pydantic import Field

from ciwm.records.base import Record


class SideCoverage(Record):
    """One side: the files it was read from, the lines tests could reach, and those they did."""

    files: tuple[str, ...]
    lines: int = Field(ge=0)
    covered: int = Field(ge=0)

    @property
    def pct(self) -> float | None:
        """Percent of the lines that are covered; None where there is none."""
        return 100 * self.covered / self.lines if self.lines else None


class UncoveredLines(Record):
    """Lines of a file that head changed and no test reached, as ranges: first and last line."""

    path: str
    ranges: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """How many lines."""
        return sum(last - first + 1 for first, last in self.ranges)


class Coverage(Record):
    """Test coverage of a bump. `changed` are lines that head added or edited and tests could reach.

    A side without a file is None, and `problems` say why. `shard` names the jobs of a matrix that
    found it, where others found something else.
    """

    base: SideCoverage | None = None
    head: SideCoverage | None = None
    changed: int = Field(default=0, ge=0)
    changed_covered: int = Field(default=0, ge=0)
    uncovered: tuple[UncoveredLines, ...] = ()
    problems: tuple[str, ...] = ()
    shard: str = ""
