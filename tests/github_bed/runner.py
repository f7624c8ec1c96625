"""The GitHub Actions runner: workflows of a local checkout, run for real by `act` in host mode."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.need import need

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LABELS = ("ubuntu-latest", "ubuntu-24.04", "ubuntu-22.04", "self-hosted", "linux", "x64", "gpu")
# without these, its servers listen on the machine's outward address
_OFFLINE = (
    *("--pull=false", "--no-cache-server", "--cache-server-addr", "127.0.0.1"),
    *("--artifact-server-addr", "127.0.0.1"),
)
_ANNOTATIONS = {"error", "warning", "notice"}
_KEPT = re.compile(
    "LANG|LC_ALL|TMPDIR|LD_LIBRARY_PATH|SSL_CERT_FILE|PIP_.*|(?i:https?_proxy|no_proxy)"
)
# act 0.2.89 leaves a failed step at once, with what its terminal still holds unread. So the shell
# act starts for a step ends a failing one with a line of its own and stays until act has logged it.
_END = re.compile(r"\[the step ends: [0-9.]+\]")
_PATIENT_SHELL = """#!{bash}
[[ -t 1 ]] && [[ "$1 $2" == "--noprofile --norc" || "$1 $#" == "-e 2" ]] || exec {bash} "$@"
{bash} "$@"
status=$?
if [[ $status != 0 ]]; then
  end="[the step ends: $$.$EPOCHREALTIME]"
  echo "$end"
  while kill -0 $PPID && ! grep -qF "$end" {log}; do sleep 0.05; done 2>/dev/null
fi
exit $status
"""


@dataclass(frozen=True)
class Annotation:
    """A workflow command that GitHub shows beside the code or the job."""

    level: str
    message: str
    properties: dict[str, str]


@dataclass(frozen=True)
class ActResult:
    """What a run left. `outputs` are the steps', a later step's winning; `log` is plain text."""

    rc: int
    outputs: dict[str, str]
    summary: str
    annotations: tuple[Annotation, ...]
    steps: dict[str, str]
    jobs: dict[str, str]
    log: str
    events: tuple[dict[str, Any], ...] = field(repr=False)


class Act:
    """Runs workflows; every call has its own home, cache and temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = need("node", "act")  # node runs JavaScript actions, and checkout
        self.runs = 0

    def __call__(
        self,
        event_name: str,
        *,
        checkout: Path,
        event: Mapping[str, Any] | None = None,
        token: str = "",
        env: Mapping[str, str] | None = None,
        actions: Mapping[str, Path] | None = None,
        arguments: tuple[str, ...] = (),
        timeout_s: float = 240,
    ) -> ActResult:
        """Run the workflows of `checkout` (a git repository) for an event.

        `env` reaches every step; `actions` maps "owner/name@ref" to the folder used for it;
        `arguments` go to act as they are ("--job", "test", "--var", "LIMIT=3").
        """
        self.runs += 1
        here = self.folder / f"act-{self.runs}"
        (here / "home").mkdir(parents=True)
        log = here / "log.jsonl"
        _write_shell(here / "bin", log)
        (here / "event.json").write_text(json.dumps(event or {}), encoding="utf-8")
        (here / "secrets").write_text(f"GITHUB_TOKEN={token}\n" if token else "", encoding="utf-8")
        command = [self.program, event_name, "--directory", str(checkout), *_files(here)]
        command += _OFFLINE
        command += [part for label in LABELS for part in ("-P", f"{label}=-self-hosted")]
        for name, value in (env or {}).items():
            command += ["--env", f"{name}={value}"]
        for name, path in (actions or {}).items():
            command += ["--local-repository", f"{name}={path}"]
        with log.open("wb") as out:
            done = subprocess.run(
                [*command, *arguments],
                cwd=checkout,
                env=_environment(here),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                timeout=timeout_s,
                check=False,
            )
        return _result(done.returncode, log.read_text(encoding="utf-8"), done.stderr)


def _files(here: Path) -> list[str]:
    """What act reads and writes in the folder of a run, and nowhere else."""
    return [
        *("--eventpath", str(here / "event.json"), "--secret-file", str(here / "secrets")),
        *("--env-file", str(here / "none"), "--var-file", str(here / "none")),
        *("--action-cache-path", str(here / "actions"), "--json"),
    ]


def _environment(here: Path) -> dict[str, str]:
    """The machine's locale and network, and nothing of the user's settings or an outer runner's."""
    found = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
    home = here / "home"
    path = f"{here / 'bin'}:{os.environ.get('PATH', os.defpath)}"
    return {**found, "PATH": path, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def _write_shell(folder: Path, log: Path) -> None:
    folder.mkdir()
    shell = folder / "bash"
    text = _PATIENT_SHELL.format(bash=shutil.which("bash"), log=shlex.quote(str(log)))
    shell.write_text(text, encoding="utf-8")
    shell.chmod(0o755)


def _result(rc: int, told: str, warned: str) -> ActResult:
    events = tuple(_events(told))
    lines = [str(event.get("msg", "")).rstrip("\n") for event in events]
    return ActResult(
        rc=rc,
        outputs={
            event["name"]: event["arg"]
            for event in events
            if event.get("command") == "set-output" and "name" in event
        },
        summary="".join(
            str(event.get("content", "")) for event in events if event.get("command") == "summary"
        ),
        annotations=tuple(
            Annotation(event["command"], str(event.get("arg", "")), event.get("kvPairs") or {})
            for event in events
            if event.get("command") in _ANNOTATIONS
        ),
        steps={
            event["step"]: event["stepResult"]
            for event in events
            if "stepResult" in event and event.get("stage") == "Main"
        },
        jobs={
            event.get("jobID", event.get("job", "")): event["jobResult"]
            for event in events
            if "jobResult" in event
        },
        log=re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines) + warned),
        events=events,
    )


def _events(text: str) -> list[dict[str, Any]]:
    found = []
    for told in text.removesuffix("\n").split("\n"):
        line = _END.sub("", told)
        try:
            event = json.loads(line)
        except ValueError:
            event = {"msg": line}
        event = event if isinstance(event, dict) else {"msg": line}
        if line == told or str(event.get("msg", "")).strip():  # the shell's own line is nobody's
            found.append(event)
    return found
