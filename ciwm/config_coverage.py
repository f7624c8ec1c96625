"""[coverage] of the configuration: where each side's test coverage is written down."""

from __future__ import annotations

from ciwm.config_section import Section


class CoverageConfig(Section):
    """Test coverage is read, not measured: what the tests of a side left behind.

    Each side's own configuration counts for it. The globs are looked up in its build tree (where
    the recipe runs the tests), for head else in the checkout; `ciwm ci --coverage-base FILE` and
    `--coverage-head FILE` name files elsewhere.
    """

    files: tuple[str, ...] = ()
    """Globs of coverage.py's JSON, Cobertura's XML or lcov's tracefiles; several are joined."""
