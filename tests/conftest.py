"""What all tests share."""

from __future__ import annotations

import signal

pytest_plugins = ("tests.github_bed.fixtures", "tests.nvml")


def pytest_configure() -> None:
    """Children inherit ignored signals: under nohup, or in the background, some would be deaf."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, default)
