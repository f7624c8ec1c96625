"""Posting a report: the comment, the check, the step summary, the outputs."""

from ciwm.publish.current import still_current
from ciwm.publish.posting import KEY, Target, Texts, publish
from ciwm.publish.published import Posted, Problem, Published

__all__ = ["KEY", "Posted", "Problem", "Published", "Target", "Texts", "publish", "still_current"]
