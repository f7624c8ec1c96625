"""The GitHub a client sees: emulate behind a judge.

Every request and answer is held against GitHub's official description; what emulate lacks is
answered here, what it says wrongly is repaired (holes.py, repairs.py), permissions are enforced as
GitHub does (permissions.py), and a test can order misbehaviour (faults.py).
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.github_bed import faults, holes, permissions, repairs, workflow_runs
from tests.github_bed.answers import Answer, Refusal, refusal
from tests.github_bed.state import Exchange, State, Token

if TYPE_CHECKING:
    from tests.github_bed.contract import Contract, Operation
    from tests.github_bed.emulator import Emulator
    from tests.github_bed.graphql import Graph

_RATE_LIMIT = 5000


class Proxy:
    """The server, its state, and the thread it runs in."""

    def __init__(self, emulator: Emulator, contract: Contract, graph: Graph) -> None:
        self.emulator = emulator
        self.contract = contract
        self.state = State()
        self.graph = graph
        proxy = self

        class Handler(_Handler):
            bed = proxy

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def stop(self) -> None:
        """Close the port and end the thread."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def answer(self, request: Request) -> Answer:
        """What GitHub says to a request."""
        if request.path.startswith(workflow_runs.BLOBS):
            return workflow_runs.blob(self, request)
        token = self._token(request)
        if request.path == "/graphql":
            return self.graph.answer(self, request, token)
        operation = self.contract.operation(request.method, request.path)
        if operation is None:
            self.state.violation(f"{request.method} {request.path}: GitHub has no such operation")
            raise Refusal(404, "Not Found")
        for problem in self.contract.request_problems(operation, request.query, request.body):
            self.state.violation(f"request {operation.name}: {problem}")
        permissions.check(operation, token)
        answer = self._rest(operation, request, token)
        for problem in self.contract.answer_problems(operation, answer.status, answer.body):
            self.state.violation(f"answer {operation.name} {answer.status}: {problem}")
        return answer

    def _token(self, request: Request) -> Token | None:
        header = request.headers.get("authorization", "")
        value = header.partition(" ")[2].strip()
        if not value:
            return None
        token = self.state.tokens.get(value)
        if token is None:
            raise Refusal(401, "Bad credentials")
        return token

    def _rest(self, operation: Operation, request: Request, token: Token | None) -> Answer:
        with self.state.lock:
            filled = holes.fill(self, operation, request, token)
            if filled is not None:
                return filled
            answer = self.forward(request, token)
            return repairs.repaired(self, operation, request, answer, token)

    def json(self, method: str, path: str, token: Token | None, *, query: str = "") -> Any:
        """A repaired answer of emulate to a question of the bed itself."""
        request = Request(method, f"{path}?{query}" if query else path, {}, b"")
        operation = self.contract.operation(method, path)
        assert operation is not None, path
        given = self.forward(request, token)
        if given.status >= 400:
            raise Refusal(given.status, given.json.get("message", "Not Found"))
        return repairs.repaired(self, operation, request, given, token).json

    def forward(self, request: Request, token: Token | None) -> Answer:
        """Emulate's own answer, with this server's address and the real commit ids."""
        to_upstream = self.state.to_upstream
        body = to_upstream(request.body)
        given = self.emulator.call(
            request.method,
            to_upstream(request.path.encode()).decode(),
            json.loads(body) if body else None,
            login=token.login if token else "mallory",
            query=request.query,
        )
        links = {"link": self._own(given.headers["link"])} if "link" in given.headers else {}
        text = self.state.to_client(self._own(given.text).encode())
        return Answer(given.status_code, text, links)

    def _own(self, text: str) -> str:
        """Emulate's address, by either name, replaced by this server's."""
        return re.sub(rf"http://(localhost|127\.0\.0\.1):{self.emulator.port}\b", self.url, text)


class Request:
    """A client's request."""

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        parts = urlsplit(target)
        self.method = method
        self.path = parts.path
        self.query = parts.query
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body or b"null")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1  # head and body in one packet: no 40 ms wait for an acknowledgement
    disable_nagle_algorithm = True
    bed: Proxy

    def date_time_string(self, timestamp: float | None = None) -> str:
        """What Date says: the time, or what a test made of it."""
        clock = self.bed.state.clock
        return super().date_time_string(clock.timestamp() if clock else timestamp)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  its name there
        """Say nothing: the log is in the state."""

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, self.path, headers, self.rfile.read(length))
        state = self.bed.state
        fault = state.take_fault(request.method, request.path)
        answer = faults.commit(fault, lambda: self._answer(request))
        status = answer.status if answer else 0
        token = headers.get("authorization", "").partition(" ")[2]
        with state.lock:
            state.exchanges.append(Exchange(request.method, self.path, status, token, request.body))
        if answer is None:
            self.close_connection = True
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._send(answer)

    def _answer(self, request: Request) -> Answer:
        try:
            return self.bed.answer(request)
        except Refusal as error:
            return refusal(error)
        except Exception as error:  # noqa: BLE001  a fault of the bed must fail the test, not hang it
            self.bed.state.violation(f"the bed broke: {type(error).__name__}: {error}")
            return refusal(Refusal(500, "the test bed broke"))

    def _send(self, answer: Answer) -> None:
        used = len(self.bed.state.exchanges)
        headers = {
            "content-type": "application/json; charset=utf-8",
            "x-ratelimit-limit": str(_RATE_LIMIT),
            "x-ratelimit-remaining": str(_RATE_LIMIT - used % _RATE_LIMIT),
            "x-ratelimit-used": str(used % _RATE_LIMIT),
            "x-ratelimit-reset": str(int(time.time()) + 3600),
            "x-ratelimit-resource": "core",
            "x-github-request-id": f"BED:{used:X}",
            **answer.headers,
        }
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        if answer.status != 204:
            self.wfile.write(answer.body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815  names of http.server
