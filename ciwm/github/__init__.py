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
from ciwm.github.values import Annotation, Check, CheckRun, Comment

__all__ = [
    "Annotation",
    "Check",
    "CheckRun",
    "Comment",
    "ForbiddenError",
    "GitHub",
    "NotFoundError",
    "Patience",
    "RateLimitedError",
    "TokenRefusedError",
    "UnreachableError",
    "connect",
    "connect_from",
]
