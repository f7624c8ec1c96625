"""Which environment variables are secrets, and how their values are kept out of what we show.

Hygiene, not a sandbox: a child of the same user can still read /proc of its parents.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MASK = "***"
SHORTEST_MASKED = 6  # a shorter value would blot out ordinary words
_SECRET = re.compile(
    r"(^|_)(TOKEN|SECRET|SECRETS|PASSWORD|PASSWD|PASSPHRASE|PWD|KEY|KEYS|PAT|CREDENTIAL|CREDENTIALS"
    r"|ACCESS_KEY_ID|AUTH)$|PASSWORD$|APIKEY$|TOKEN$|^SSH_AUTH_SOCK$|_AUTH_TOKEN_|_CONNECTION_STRING$"
)
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})  # the shell's folders
_URL_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, by the habits of naming them."""
    return name not in _NOT_SECRET and _SECRET.search(name.upper()) is not None


def masker(environment: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """A function that puts *** for the values of secret variables and for passwords in URLs."""
    values = _secret_values(os.environ if environment is None else environment)
    if not values:
        return lambda text: _URL_PASSWORD.sub(MASK, text)
    secret = re.compile("|".join(map(re.escape, values)))
    return lambda text: _URL_PASSWORD.sub(MASK, secret.sub(MASK, text))


def _secret_values(environment: Mapping[str, str]) -> list[str]:
    """Longest first; of a value of several lines (a private key) each line."""
    found = {
        line.strip()
        for name, value in environment.items()
        if is_secret(name)
        for line in value.splitlines()
    }
    return sorted((v for v in found if len(v) >= SHORTEST_MASKED), key=len, reverse=True)
