"""Talking to Ray: the connection to a cluster, a task that is sent to a node, and what it says."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ciwm.errors import EnvironmentFailure
from ciwm.launch.files import make_folder
from ciwm.launch.worker_process import RESULT
from ciwm.proc import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ciwm.bench.ray_cluster import Cluster, Node
    from ciwm.bench.ray_parcel import Errand, ProfileErrand

CONNECT_S = 10.0
POLL_S = 0.2  # how often `stop` is looked at
CANCEL_S = 3 * GRACE_S  # for a cancelled task to end its launch; then its process is killed
_MESSAGE = 300  # characters of an error's last line


def connected(address: str) -> Any:
    """Ray, connected to a cluster; raises EnvironmentFailure without Ray, and without a cluster."""
    try:
        import ray  # noqa: PLC0415  an extra
    except ImportError as error:
        raise EnvironmentFailure(
            'engine = "ray" needs Ray, which is not installed', "pip install 'ciwm[ray]'"
        ) from error
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns at each task
    try:
        _refuse_silence(address)
        with _our_signals():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        words = " ".join(str(error).split())[:200]
        raise EnvironmentFailure(
            f"cannot reach the Ray cluster {address!r}: {words}",
            "start one (ray start --head), or name it: [bench] ray.address",
        ) from error
    return ray


def _refuse_silence(address: str) -> None:
    """Raise OSError where nobody listens at HOST:PORT; Ray would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()


@contextlib.contextmanager
def _our_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; ours stops a run so that nothing is lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def send(
    cluster: Cluster,
    what: Callable[..., Iterator[dict[str, Any]]],
    node: Node,
    parcel: Any,
    errand: Errand | ProfileErrand,
    *,
    devices: int,
) -> Any:
    """Start a generator on a node, with its accelerators; the stream of what it yields."""
    options = cluster.on_node(node, devices if node.gpus else 0)
    task = cluster.ray.remote(what).options(num_returns="streaming", **options)
    return task.remote(parcel, errand)


def next_said(ray: Any, stream: Any) -> dict[str, Any]:
    """The next thing a task says; `last` is its last word, also when it has no more of its own.

    Its kind is then `end`, `cancelled`, `error` (our mistake there), or `lost`: with its node, or
    its process.
    """
    failures = ray.exceptions
    try:
        said: dict[str, Any] = ray.get(next(stream))
    except StopIteration:
        return {"kind": "end", "last": True}
    except failures.TaskCancelledError:
        return {"kind": "cancelled", "last": True}
    except failures.RayTaskError as error:
        return {"kind": "error", "message": last_line(error), "hint": "", "last": True}
    except failures.RayError as error:
        return {"kind": "lost", "message": last_line(error), "last": True}
    return {**said, "last": False}


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write down what came of a launch's files, as if it had run here; its result is made here."""
    make_folder(folder)
    for name, data in files.items():
        if name != RESULT:
            (folder / Path(name).name).write_bytes(data)


def last_line(error: Exception) -> str:
    """The last line of what Ray says of a failure, where the failure itself stands."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:_MESSAGE] if lines else type(error).__name__
