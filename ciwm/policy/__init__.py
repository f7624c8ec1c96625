"""The gate's policy: from launches to outcomes, and from outcomes to an exit code."""

from ciwm.policy.watch import Watch

__all__ = ["Watch"]
