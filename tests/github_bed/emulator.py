"""emulate, a stateful GitHub in one node process: started on loopback, stopped by its pid."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

import requests

from tests.github_bed import npm
from tests.need import missing, need

if TYPE_CHECKING:
    from pathlib import Path

ORGANISATION = "acme"
MAINTAINER = "maintainer"
LOGINS = ("github-actions[bot]", "ciwm[bot]", MAINTAINER, "contributor", "mallory")
START_LIMIT_S = 30.0


def upstream_token(login: str) -> str:
    """The token by which emulate takes us for `login`."""
    return f"upstream-{login.removesuffix('[bot]')}"


class Emulator:
    """The running process and plain requests to it, unchecked: for the bed, not for clients."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port
        self.session = requests.Session()
        self.session.trust_env = False  # a proxy or .netrc of the machine is not for loopback

    @classmethod
    def start(cls, folder: Path) -> Emulator:
        """Start emulate with our users; its log and seed stay in `folder`."""
        script, node = npm.emulate(), need("node")
        seed = folder / "seed.yaml"
        seed.write_text(json.dumps(_seed()))  # JSON is YAML
        log = folder / "emulate.log"
        for _ in range(4):  # the free port may be taken by somebody before node has it
            port = _free_port()
            command = [node, "-r", str(npm.HERE / "loopback.cjs"), str(script), "start"]
            command += ["--service", "github", "--port", str(port), "--seed", str(seed)]
            with log.open("ab") as sink:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, cwd=folder
                )
            if _answers(process, port):
                return cls(process, port)
            process.kill()
            process.wait()
        return missing(f"emulate did not start: {log.read_text()[-400:]}")

    def stop(self) -> None:
        """End the process we started."""
        self.session.close()
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        login: str = MAINTAINER,
        query: str = "",
    ) -> requests.Response:
        """One request as `login`, to emulate itself; no status is an error."""
        return self.session.request(
            method,
            f"http://127.0.0.1:{self.port}{path}{'?' + query if query else ''}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"token {upstream_token(login)}"},
            timeout=30,
            allow_redirects=False,
        )

    def json(self, method: str, path: str, body: Any = None, login: str = MAINTAINER) -> Any:
        """The answer to a request that must succeed."""
        answer = self.call(method, path, body, login)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None


def _seed() -> dict[str, Any]:
    return {
        "tokens": {upstream_token(login): {"login": login, "scopes": ["repo"]} for login in LOGINS},
        "github": {
            "users": [{"login": login} for login in LOGINS],
            "orgs": [{"login": ORGANISATION, "members": [{"login": MAINTAINER, "role": "admin"}]}],
        },
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + START_LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process.poll() is None
        time.sleep(0.05)
    return False
