"""Fetching a file of a workflow run, of which no more than a stated size is ever held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.errors import GitHubError
from ciwm.github.failures import SERVER_ERROR, TOO_MANY

if TYPE_CHECKING:
    import requests

    from ciwm.github.retry import Patience

_CHUNK_BYTES = 1 << 16
_REDIRECTS = (301, 302, 303, 307, 308)


def download(url: str, token: str | None, limit_bytes: int, patience: Patience) -> bytes:
    """The file that an address of the API redirects to; raises GitHubError when it is larger.

    The token goes to the API alone, never to the place it redirects to.
    """
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "ciwm"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    with _session(patience) as session:
        asked = session.get(
            url, headers=headers, timeout=patience.timeout_s, allow_redirects=False, stream=True
        )
        with asked:
            if asked.status_code not in _REDIRECTS:
                return _bounded(asked, limit_bytes)
            place = asked.headers.get("location", "")
        with session.get(
            place, headers={"User-Agent": "ciwm"}, timeout=patience.timeout_s, stream=True
        ) as given:
            return _bounded(given, limit_bytes)


def _session(patience: Patience) -> requests.Session:
    import requests  # noqa: PLC0415  slow to load
    from urllib3.util import Retry  # noqa: PLC0415

    retry = Retry(
        total=patience.retries,
        backoff_factor=patience.backoff_s,
        backoff_max=patience.total_wait_s,
        status_forcelist=[TOO_MANY, *range(SERVER_ERROR, 600)],
        allowed_methods=["GET"],
        respect_retry_after_header=False,  # an hour, say, is not waited for
    )
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, requests.adapters.HTTPAdapter(max_retries=retry))
    return session


def _bounded(answer: requests.Response, limit_bytes: int) -> bytes:
    if not answer.ok:
        raise GitHubError(
            f"GitHub answered {answer.status_code}",
            "has the artifact expired, and may the token read it (`permissions: {actions: read}`)?",
        )
    held = bytearray()
    for chunk in answer.iter_content(_CHUNK_BYTES):
        held += chunk
        if len(held) > limit_bytes:
            raise GitHubError(f"it is larger than {limit_bytes >> 20} MiB")
    return bytes(held)
