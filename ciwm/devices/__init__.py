"""The devices work runs on: `describe_host`, `visible_cards`.

Loaded when asked for: the sampler imports its meters from here and must not load the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciwm.devices.host import describe_host, visible_cards

__all__ = ["describe_host", "visible_cards"]


def __getattr__(name: str) -> Any:
    """The two functions, on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ciwm.devices import host  # noqa: PLC0415  slow to load

    return getattr(host, name)
