"""The gate's policy: from launches to outcomes, and from outcomes to an exit code."""

from ciwm.policy.answer import conclusion, exit_code
from ciwm.policy.decision import decide
from ciwm.policy.thresholds import by_policy_of
from ciwm.policy.waiving import Waivers
from ciwm.policy.watch import Watch

__all__ = ["Waivers", "Watch", "by_policy_of", "conclusion", "decide", "exit_code"]
