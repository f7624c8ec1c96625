"""What `ciwm map export` does."""

from __future__ import annotations

from typing import Any

from ciwm.commands.map_site import say, write


def run(options: dict[str, Any]) -> int:
    """Write a bundle of maps and manifests."""
    from ciwm.opmap.sharing import bundled  # noqa: PLC0415

    bundle = bundled(options["files"], options["licence"])
    write(options["out"], bundle.to_json())
    say(
        f"{options['out']}: {len(bundle.maps)} maps, {len(bundle.manifests)} manifests, "
        f"licence {bundle.licence}"
    )
    return 0
