"""The GitHub API, through PyGithub, which is imported only when it is used."""

from ciwm.github.api import GitHub, connect, connect_from
from ciwm.github.failures import (
    ForbiddenError,
    NotFoundError,
    RateLimitedError,
    TokenRefusedError,
    UnreachableError,
)
from ciwm.github.retry import Patience
from ciwm.github.runs import (
    Approval,
    Artifact,
    OpenPull,
    Tip,
    approvals,
    archive,
    artifacts,
    first_parent,
    open_pulls,
)
from ciwm.github.values import Annotation, Check, CheckRun, Comment, Status

__all__ = [
    "Annotation",
    "Approval",
    "Artifact",
    "Check",
    "CheckRun",
    "Comment",
    "ForbiddenError",
    "GitHub",
    "NotFoundError",
    "OpenPull",
    "Patience",
    "RateLimitedError",
    "Status",
    "Tip",
    "TokenRefusedError",
    "UnreachableError",
    "approvals",
    "archive",
    "artifacts",
    "connect",
    "connect_from",
    "first_parent",
    "open_pulls",
]
