"""Which upstream a plugin says it is made for, from its own files at the revision reported on."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ciwm.errors import ConfigError, UsageError
from ciwm.upstream.names import readable_path
from ciwm.upstream.reading import read

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ciwm.config import PinConfig
    from ciwm.git import Repository

_SHA = re.compile(r"[0-9a-f]{7,64}")
_REVISION = re.compile(r"[^\s~^:?*\[\\]+")
_SHOWN = 4


class Pin(NamedTuple):
    """What is pinned, as written, and where that is written."""

    text: str
    source: str


def read_pin(repository: Repository, downstream: str, pin: PinConfig) -> Pin:
    """The pin at a downstream commit; raises UsageError when it is not there or not one."""
    if pin.revision is not None:
        return Pin(pin.revision, "[upstream] pin")
    if pin.submodule is not None:
        return _submodule(repository, downstream, pin.submodule)
    if pin.file is None:
        raise ConfigError("a pin without file, submodule or revision")
    return pin_in(file_at(repository, downstream, pin.file), pin)


def pin_in(content: str, pin: PinConfig) -> Pin:
    """The pin in the text of its file; raises UsageError when it is not there or not one."""
    path = pin.file or ""
    if pin.package is not None:
        return Pin(_required(content, pin.package, path), f"{path}: {pin.package}")
    if pin.pattern is not None:
        return Pin(_matched(content, pin.pattern, path), f"{path}: /{pin.pattern}/")
    return Pin(_whole(content, path), path)


def file_at(repository: Repository, downstream: str, path: str) -> str:
    """The text of the file that holds a pin, at a commit; raises UsageError where there is none."""
    plain = path.removeprefix("./")
    found = repository.run("cat-file", "blob", f"{downstream}:{plain}", check=False)
    if found.status != 0:
        raise UsageError(
            f"the pin cannot be read: {downstream[:12]} has no file {readable_path(plain)}",
            "state where the plugin says which upstream it needs: [upstream] pin",
        )
    return found.stdout.decode("utf-8", "replace")


def _submodule(repository: Repository, downstream: str, path: str) -> Pin:
    plain = path.removeprefix("./").rstrip("/")
    listed = read(repository, "ls-tree", "-z", "--full-tree", downstream, "--", plain).text
    mode, _, rest = listed.rstrip("\0").partition(" ")
    if mode != "160000":
        raise UsageError(f"{readable_path(plain)} is no submodule at {downstream[:12]}")
    return Pin(rest.split(" ")[1].partition("\t")[0], f"submodule {plain}")


def _whole(content: str, path: str) -> str:
    """The first word of the first line that is not empty and no comment."""
    lines = (line.partition("#")[0].strip() for line in content.splitlines())
    words = next((line for line in lines if line), "").strip("\"'")
    if not words or not _REVISION.fullmatch(words):
        raise UsageError(
            f"{path} holds no commit, tag or version: {words[:60]!r}",
            "say what to look for in it: pin = { file = '...', pattern = 'commit: (.+)' }",
        )
    return words


def _matched(content: str, pattern: str, path: str) -> str:
    found = list(dict.fromkeys(re.findall(pattern, content, re.MULTILINE)))
    if len(found) == 1 and found[0]:
        return str(found[0])
    if not found:
        raise UsageError(f"{path} has nothing that matches the pin's pattern {pattern}")
    raise UsageError(
        f"{path} matches the pin's pattern in {len(found)} different ways: "
        f"{', '.join(str(each)[:60] for each in found[:_SHOWN])}",
        "make the pattern stricter, or state each as a lane of its own in [upstream.pins]",
    )


def _required(content: str, package: str, path: str) -> str:
    specifiers = list(dict.fromkeys(_specifiers(content, package, path)))
    pins = list(dict.fromkeys(pin for each in specifiers if (pin := _pinned(each))))
    if len(pins) == 1:
        return pins[0]
    if not specifiers:
        raise UsageError(f"{path} does not require {package}")
    told = ", ".join(each[:60] for each in specifiers[:_SHOWN])
    raise UsageError(
        f"{path} requires no one version of {package}: {told}",
        'name the commit or tag: pin = { revision = "..." }',
    )


def _specifiers(content: str, package: str, path: str) -> Iterator[str]:
    """What is required of a package, from TOML or from lines of requirements."""
    if path.endswith((".toml", ".lock")):
        try:
            table = tomllib.loads(content)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the pin cannot be read: {path} is not TOML: {error}") from error
        yield from _in_toml(table, package)
        return
    for line in content.splitlines():
        for text in (line.partition(" #")[0].strip(), *re.findall(r"[\"']([^\"']+)[\"']", line)):
            if (found := _requirement(text, package)) is not None:
                yield found


def _in_toml(value: Any, package: str) -> Iterator[str]:
    if isinstance(value, str):
        if (found := _requirement(value, package)) is not None:
            yield found
    elif isinstance(value, list):
        for each in value:
            yield from _in_toml(each, package)
    elif isinstance(value, dict):
        if _same(str(value.get("name", "")), package) and isinstance(value.get("version"), str):
            yield f"=={value['version']}"
        for key, each in value.items():
            if _same(str(key), package):
                yield from _by_key(each)
            else:
                yield from _in_toml(each, package)


def _by_key(value: Any) -> Iterator[str]:
    """`vllm = "0.10.2"` and `vllm = { git = "...", rev = "..." }`."""
    if isinstance(value, str):
        yield value if value[:1] in "=<>~^!@" else f"=={value}"
    elif isinstance(value, dict):
        named = next((value[key] for key in ("rev", "tag", "version") if key in value), None)
        if isinstance(named, str):
            yield f"=={named.lstrip('=^~> ')}"


def _requirement(text: str, package: str) -> str | None:
    """What follows the name in `vllm[extra] == 0.10.2 ; python_version > "3.9"`."""
    match = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)", text)
    if match is None or not _same(match[1], package):
        return None
    rest = match[2].partition(";")[0].strip().strip("()")
    return rest if rest[:1] in ("=", "<", ">", "~", "!", "@") else None


def _pinned(specifier: str) -> str:
    """The one version or revision a specifier means; "" when it allows several."""
    url = re.fullmatch(r"@\s*\S+?@([^@#\s]+)(?:#.*)?", specifier)
    if url is not None:
        return url[1]
    exact = re.fullmatch(r"={2,3}\s*([^\s,*]+)", specifier)
    return exact[1] if exact else ""


def is_commit_id(text: str) -> bool:
    """Whether a pin is written as a commit's id, and not as a tag or a version."""
    return _SHA.fullmatch(text) is not None


def _same(name: str, package: str) -> bool:
    """Whether two names are one distribution's."""
    return re.sub(r"[-_.]+", "-", name).lower() == re.sub(r"[-_.]+", "-", package).lower()


def pinned_commit(upstream: Repository, pin: Pin, package: str) -> str:
    """The upstream commit a pin means: a commit, a tag, or the tag of a version.

    Raises UsageError when upstream's clone has none of them.
    """
    version = pin.text.removeprefix("v")
    names = [pin.text, f"refs/tags/{pin.text}", f"refs/remotes/origin/{pin.text}"]
    if not _SHA.fullmatch(pin.text):
        tags = (f"v{version}", version, f"{package}-{version}", f"{package}-v{version}")
        names = [*(f"refs/tags/{tag}" for tag in tags), f"refs/tags/release/{version}", *names]
    for name in names:
        try:
            return upstream.commit(name)
        except UsageError:
            continue
    raise UsageError(
        f"upstream's clone {upstream.path} has no {pin.text}, which {pin.source} names",
        f"fetch it first: git -C {upstream.path} fetch --tags",
    )
