"""Property tests draw the same examples every time, however loaded the machine is."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("ciwm", deadline=None, derandomize=True)
settings.load_profile("ciwm")
