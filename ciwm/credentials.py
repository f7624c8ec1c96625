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
_ANYWHERE = frozenset(
    {
        "APIKEY",
        "AUTH",
        "COOKIE",
        "COOKIES",
        "CREDENTIAL",
        "CREDENTIALS",
        "DSN",
        "KUBECONFIG",
        "NETRC",
        "PASSPHRASE",
        "PASSWD",
        "PASSWORD",
        "PASSWORDS",
        "SECRET",
        "SECRETS",
        "SESSION",
        "TOKEN",
        "WEBHOOK",
        "WEBHOOKS",
    }
)
_LAST = frozenset({"KEY", "KEYS", "PAT", "PWD"})
_ENDINGS = ("APIKEY", "PASSWD", "PASSWORD", "TOKEN", "CONNECTION_STRING")
_KEYS = re.compile(r"(^|_)(ACCESS|API|DEPLOY|ENCRYPTION|PRIVATE|SIGNING|SSH)_KEYS?(_|$)")
_NOT_SECRET = frozenset({"PWD", "OLDPWD"})  # the shell's folders
_URL_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_URL_LOGIN = re.compile(r"(?<=://)(?:[^/@\s:]*:([^/@\s]*)|(?<=http://|ttps://)([^/@\s]*))@")


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, by the habits of naming them.

    Judged by whole words, a number after them aside: KEYBOARD, AUTHOR and MAX_TOKENS stay.
    """
    words = [word.rstrip("0123456789") for word in re.split(r"[^A-Z0-9]+", name.upper())]
    plain = "_".join(words)
    return name not in _NOT_SECRET and (
        not _ANYWHERE.isdisjoint(words)
        or words[-1] in _LAST
        or plain.endswith(_ENDINGS)
        or _KEYS.search(plain) is not None
    )


def without_logins(value: str) -> str:
    """A variable's value, user and password taken out of the URLs in it.

    The URL stays: a package index that vanished would send pip to another one without a word.
    """
    return _URL_LOGIN.sub("", value)


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
        for line in (value if is_secret(name) else _passwords(value)).splitlines()
    }
    return sorted((v for v in found if len(v) >= SHORTEST_MASKED), key=len, reverse=True)


def _passwords(value: str) -> str:
    """The passwords in the URLs of a value, a line each."""
    return "\n".join(login[1] or login[2] or "" for login in _URL_LOGIN.finditer(value))
