"""The devices work runs on: `describe_host`, `visible_cards`."""

from ciwm.devices.host import describe_host, visible_cards

__all__ = ["describe_host", "visible_cards"]
