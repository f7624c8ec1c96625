"""A git server on loopback: `git http-backend` behind a handler that asks for a token."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class GitServer:
    """Where it listens, the token it wants, and what it has seen."""

    root: Path
    token: str
    url: str = ""
    redirect_to: str | None = None
    authorized: int = 0
    refused: int = 0
    sent_bytes: int = 0
    stray_headers: list[str] = field(default_factory=list)

    @property
    def header(self) -> str:
        """The only Authorization header it lets in."""
        return "Basic " + base64.b64encode(f"x-access-token:{self.token}".encode()).decode()


@contextmanager
def git_server(root: Path, token: str) -> Iterator[GitServer]:
    """Serve the bare repositories in `root`, for reading and writing, to bearers of the token."""
    state = GitServer(root, token)

    class Handler(_Handler):
        server_state = state

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server_state: GitServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self._body())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def _answer(self, body: bytes) -> None:
        state = self.server_state
        given = self.headers.get_all("Authorization") or []
        if state.redirect_to is not None:
            state.stray_headers += given
            self._reply(302, {"Location": state.redirect_to + self.path}, b"")
        elif given != [state.header]:
            state.refused += 1
            state.stray_headers += given
            self._reply(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        else:
            state.authorized += 1
            self._backend(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _backend(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server_state.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_USER": "ciwm",
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=variables, capture_output=True, check=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200 OK").split()[0])
        self.server_state.sent_bytes += len(content)
        self._reply(status, headers, content)

    def _reply(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
