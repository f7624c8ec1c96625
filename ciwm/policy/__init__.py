"""The gate's policy: from launches to outcomes, and from outcomes to an exit code.

Each name is loaded when it is first asked for: a sync report asks for budgets alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciwm.policy.answer import conclusion, exit_code
    from ciwm.policy.build_time import of_all_builds, of_builds
    from ciwm.policy.decision import decide
    from ciwm.policy.thresholds import by_policy_of
    from ciwm.policy.waiving import Waivers
    from ciwm.policy.watch import Watch

_HOME = {
    "Waivers": "waiving",
    "Watch": "watch",
    "by_policy_of": "thresholds",
    "conclusion": "answer",
    "decide": "decision",
    "exit_code": "answer",
    "of_all_builds": "build_time",
    "of_builds": "build_time",
}

__all__ = [
    "Waivers",
    "Watch",
    "by_policy_of",
    "conclusion",
    "decide",
    "exit_code",
    "of_all_builds",
    "of_builds",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
