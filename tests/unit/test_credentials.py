"""Which variables are secrets, and how their values are kept out of texts."""

from __future__ import annotations

import pytest

from ciwm.credentials import is_secret, masker, without_logins


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "HF_TOKEN",
        "TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "OPENAI_API_KEY",
        "VLLM_API_KEY",
        "WANDB_API_KEY",
        "SONAR_APIKEY",
        "PGPASSWORD",
        "MYSQL_PWD",
        "DB_PASSWORD",
        "db_password",
        "SIGNING_PASSPHRASE",
        "GH_PAT",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "npm_config__auth",
        "NODE_AUTH_TOKEN",
        "CLIENT_SECRET",
        "SSH_AUTH_SOCK",
        "AZURE_STORAGE_CONNECTION_STRING",
        "DOCKER_AUTH_CONFIG",
        "SSH_PRIVATE_KEY_B64",
        "PASSWORD1",
        "TOKEN_GITHUB",
        "SECRET_FOR_DEPLOY",
        "SLACK_WEBHOOK_URL",
        "AZURE_CREDENTIALS_JSON",
        "SESSION_COOKIE_VALUE",
        "KUBECONFIG",
        "SENTRY_DSN",
        "NETRC",
        "VLLM_API_KEY_2",
    ],
)
def test_a_variable_named_like_a_secret_is_one(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "KEYBOARD",
        "TOKENIZERS_PARALLELISM",
        "MONKEY",
        "PATCH",
        "HF_HOME",
        "OMP_NUM_THREADS",
        "AUTHOR",
        "SECRETARY",
        "GIT_AUTHOR_NAME",
        "XAUTHORITY",
        "VLLM_MAX_TOKENS",
        "KEY_COUNT",
        "PASSWORDLESS",
        "CUDA_HOME",
        "CCACHE_DIR",
    ],
)
def test_an_ordinary_variable_is_not(name: str) -> None:
    assert not is_secret(name)


def test_values_of_secrets_become_stars_wherever_they_stand() -> None:
    mask = masker({"HF_TOKEN": "abc.def+1", "HOME": "/home/user"})
    assert mask("x abc.def+1 and 'abc.def+1'; /home/user") == "x *** and '***'; /home/user"
    assert mask("abcXdef+1") == "abcXdef+1"  # the value is no pattern


def test_a_secret_within_a_longer_one_does_not_leave_its_rest() -> None:
    mask = masker({"A_TOKEN": "secret", "B_TOKEN": "secret-and-more"})
    assert mask("secret-and-more secret") == "*** ***"


def test_every_line_of_a_private_key_is_masked() -> None:
    mask = masker({"DEPLOY_KEY": "-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----\n"})
    assert mask("read MIIEvQIBADANBg") == "read ***"


def test_a_value_too_short_to_be_told_from_a_word_is_left() -> None:
    assert masker({"CACHE_KEY": "linux"})("linux build") == "linux build"


def test_passwords_in_urls_are_masked_and_the_host_is_shown() -> None:
    mask = masker({})
    assert mask("git clone https://user:pw@example.org/x") == "git clone https://***@example.org/x"
    assert mask("https://token@example.org") == "https://***@example.org"
    assert mask("https://example.org/a@b and a@b.org") == "https://example.org/a@b and a@b.org"


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ("postgres://app:pw@db.example.org/x", "postgres://db.example.org/x"),
        ("https://user:pw@index/simple https://x", "https://index/simple https://x"),
        ("https://token@index/simple", "https://index/simple"),
        ("http://:pw@proxy:3128", "http://proxy:3128"),
        ("redis://:p:w@cache", "redis://cache"),
        ("ssh://git@example.org/x", "ssh://git@example.org/x"),  # a user alone is no secret here
        ("https://example.org:8080/a@b", "https://example.org:8080/a@b"),
        ("a@b.org", "a@b.org"),
    ],
)
def test_a_login_is_taken_out_of_a_url_and_the_url_is_left(value: str, left: str) -> None:
    assert without_logins(value) == left


def test_the_password_in_the_url_of_a_variable_is_masked_alone_too() -> None:
    mask = masker({"PIP_INDEX_URL": "https://user:open-sesame@index/simple"})
    assert mask("401 for open-sesame") == "401 for ***"
