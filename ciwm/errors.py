"""The failures ciwm knows, each with the exit code it ends in.

CiwmError
 |- UsageError          2  the command line or a file the user wrote
 |   `- ConfigError     2  ciwm.toml, or [tool.ciwm]
 |- EnvironmentFailure  4  something outside that we need did not work
 |   |- GitError
 |   |- BuildError
 |   |- LaunchError
 |   |- DeviceError
 |   |- GitHubError
 |   `- StoreError
 |- IncomparableError   5  conditions make the comparison meaningless
 `- BugError           70  what nobody foresaw

A verdict is a result and never an exception. Raise low, catch once, in cli.py.
"""

from __future__ import annotations

from typing import ClassVar

OK = 0
NO = 1
USAGE = 2
INCONCLUSIVE = 3
ENVIRONMENT = 4
VOID = 5
BUG = 70
INTERRUPTED = 130


class CiwmError(Exception):
    """A failure with one line that says what is wrong and one that says how to mend it."""

    exit_code: ClassVar[int] = ENVIRONMENT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(CiwmError):
    """The command line, or a file handed to us, cannot be used as it is."""

    exit_code = USAGE


class ConfigError(UsageError):
    """ciwm.toml (or [tool.ciwm]) is wrong."""


class EnvironmentFailure(CiwmError):  # noqa: N818  a family of errors, not one
    """Something outside ciwm that it needs did not work."""


class GitError(EnvironmentFailure):
    """Git is missing, too old, or refused."""


class BuildError(EnvironmentFailure):
    """A revision did not build."""


class LaunchError(EnvironmentFailure):
    """A worker could not be started at all."""


class DeviceError(EnvironmentFailure):
    """A card could not be read or locked."""


class GitHubError(EnvironmentFailure):
    """The GitHub API refused or did not answer."""


class StoreError(EnvironmentFailure):
    """Stored runs could not be read or written; unreadable is never empty."""


class NotFetchedError(StoreError):
    """The branch of the runs is not in this clone; whether the remote has one is not known."""


class IncomparableError(CiwmError):
    """The two sides were not taken under comparable conditions."""

    exit_code = VOID


class BugError(CiwmError):
    """Something of ours broke; the hint says where the traceback is."""

    exit_code = BUG
