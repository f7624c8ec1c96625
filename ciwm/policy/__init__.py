"""The gate's policy: from launches to outcomes, and from outcomes to an exit code."""

from ciwm.policy.answer import conclusion, exit_code
from ciwm.policy.decision import decide
from ciwm.policy.watch import Watch

__all__ = ["Watch", "conclusion", "decide", "exit_code"]
