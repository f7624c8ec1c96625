"""AMD's binding `amdsmi`, where it is installed: how it is opened, and asked without trust.

Loads nothing of ciwm's records: the sampler uses it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def binding() -> Any:
    """The binding, initialised; None where it, its library or a card is not there.

    Raises the binding's own AmdSmiException where the driver is there and does not answer.
    """
    try:
        # it prints, on standard output, that its library is not there
        with contextlib.redirect_stdout(io.StringIO()):
            module = importlib.import_module("amdsmi")
    except Exception:  # noqa: BLE001  OSError, KeyError, ...: it differs from release to release
        return None
    try:
        module.amdsmi_init()
    except module.AmdSmiLibraryException as error:
        if "DRIVER_NOT_LOADED" in str(error) or "NO_DRV" in str(error):
            return None
        raise
    return module


def asked(module: Any, read: Callable[[], Any]) -> Any:
    """What a reading gives; None where this card does not have it ("N/A" among it)."""
    try:
        found = read()
    except (module.AmdSmiException, KeyError, TypeError, ValueError, AttributeError):
        return None
    return None if found == "N/A" else found


def number(module: Any, read: Callable[[], Any]) -> int | None:
    """A reading that is a number; None where the card has none."""
    found = asked(module, read)
    return int(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None
