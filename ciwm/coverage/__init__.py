"""Test coverage that others measured: read, compared, and laid over the lines a change touches."""

from ciwm.coverage.changed import changed_lines
from ciwm.coverage.comparison import compared
from ciwm.coverage.reading import Hits, read_coverage

__all__ = ["Hits", "changed_lines", "compared", "read_coverage"]
