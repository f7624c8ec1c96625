"""Runs one command and sees to it that nothing of it outlives the controller.

A process of its own, started by path from `proc.py` as `python -I -S guard.py`; imports nothing of
ciwm. It is the child subreaper of everything the command starts, so that a grandchild that calls
setsid or daemonises is still found and killed: when the command ends, when told to stop, and when
the controller dies, by SIGKILL too (its pidfd becomes readable, or the request pipe ends).

fd 0  the request (see `read_request`), then `T` to stop; end of file means that nobody listens
fd 1  the report: `pid N`, then `ended STATUS SECONDS PEAK_BYTES REASON CPU_SECONDS`;
      or `error ERRNO cwd|command`
fd 2  the log, which is both outputs of the command
"""

from __future__ import annotations

# `signal` would load enum, and `ctypes` more: half of what a launch waits for us
import _signal as signal  # type: ignore[import-not-found]
import os
import resource
import select
import time

LEFTOVER_GRACE_S = 1.0  # for what is still running when the command itself has ended
KILL_WAIT_S = 10.0  # a process stuck in the kernel ignores SIGKILL; we do not wait for ever
FREEZE_ROUNDS = 20
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Request:
    """What to run: controller's pid, seconds of grace, command, folder and environment."""

    def __init__(self, fields: list[bytes]) -> None:
        self.controller = int(fields[0])
        self.grace_s = float(fields[1])
        count = int(fields[2])
        self.command = fields[3 : 3 + count]
        self.cwd = fields[3 + count]
        pairs = (field.partition(b"=") for field in fields[4 + count :])
        self.env = {name: value for name, _, value in pairs}


def read_request() -> Request | None:
    """The request on fd 0: its length, a newline, NUL-separated fields; None when it is cut off."""
    head = b""
    while not head.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return None
        head += byte
    wanted, parts = int(head), []
    while wanted:
        part = os.read(0, min(wanted, 1 << 20))
        if not part:
            return None
        parts.append(part)
        wanted -= len(part)
    return Request(b"".join(parts).split(b"\0"))


def prctl(option: int, argument: int) -> None:
    """Ask Linux for a process option; without ctypes we do without the option."""
    try:
        import _ctypes as c  # noqa: PLC0415  some interpreters are built without it

        libc = c.dlopen(None, 0)  # type: ignore[arg-type]
        c.call_function(c.dlsym(libc, "prctl"), (option, argument, 0, 0, 0))
    except (ImportError, AttributeError):  # another interpreter's has other insides
        try:
            import ctypes  # noqa: PLC0415
        except ImportError:
            return
        ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)


class CannotStart(Exception):  # noqa: N818  the wording of the report
    """The command could not start: the errno, and whether the folder or the command is to blame."""


def start(request: Request) -> int:
    """Start the command as leader of its own process group, and return its pid."""
    told, tell = os.pipe()
    guard = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _become(request, guard)
        except OSError as error:
            where = "cwd" if error.filename == request.cwd else "command"
            os.write(tell, f"{error.errno} {where}".encode())
        finally:
            os._exit(127)
    os.close(tell)
    try:
        os.setpgid(pid, pid)
    except OSError:  # it was quicker, or is gone
        pass
    failure = os.read(told, 32)
    os.close(told)
    if failure:
        os.waitpid(pid, 0)
        raise CannotStart(failure.decode())
    return pid


def _become(request: Request, guard: int) -> None:
    os.setpgid(0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(127)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them; a command expects them
        signal.signal(number, signal.SIG_DFL)
    os.chdir(request.cwd)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    os.execvpe(request.command[0], request.command, request.env)  # noqa: S606  no shell is meant


class Watch:
    """One running command: what became of it, and the time limit on what it left behind."""

    def __init__(self, pid: int, request: Request, wake: int) -> None:
        self.pid = pid
        self.wake = wake
        self.request = request
        self.started = time.monotonic()
        self.status: int | None = None
        self.duration_s = 0.0
        self.reason = "exited"
        self.deadline: float | None = None
        self.rest_told = False

    def until_nothing_is_left(self) -> None:
        """Return when the command and all its descendants are gone."""
        wake = self.wake
        poll, alive = _poll(wake, self.request.controller)
        while self._reap():
            if self.deadline is not None and time.monotonic() >= self.deadline:
                return self._kill()
            ready = {fd for fd, _ in poll.poll(self._timeout_ms())}
            if wake in ready and set(os.read(wake, 4096)) & set(STOP_SIGNALS):
                self._stop()
            if alive in ready:
                return self._kill()
            if 0 in ready:
                if not os.read(0, 16):
                    return self._kill()
                self._stop()
        return None

    def _kill(self) -> None:
        freeze_descendants()
        until = time.monotonic() + KILL_WAIT_S
        while time.monotonic() < until:
            for pid in descendants():
                _kill(pid, signal.SIGKILL)
            if not self._reap():
                return
            time.sleep(0.005)
        left = " ".join(map(str, descendants()))
        os.write(2, f"\nciwm: could not be killed, still running: {left}\n".encode())

    def _timeout_ms(self) -> float | None:
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - time.monotonic()) * 1000 + 1

    def _reap(self) -> bool:
        """Collect what has ended; False when no descendant is left."""
        while True:
            try:
                pid, raw = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                self._see_to_the_rest()
                return True
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(raw)
                self.duration_s = time.monotonic() - self.started

    def _see_to_the_rest(self) -> None:
        """Tell what the command left behind, once, to end; it is seldom that it left anything."""
        if self.status is None or self.rest_told:
            return
        self.rest_told = True
        spared = self.pid if self.reason == "stopped" else 0  # that group was already told
        for pid, group in descendants().items():
            if group != spared:
                _kill(pid, signal.SIGTERM)
        if self.deadline is None:
            self.deadline = time.monotonic() + LEFTOVER_GRACE_S

    def _stop(self) -> None:
        if self.reason == "stopped":
            return
        self.reason = "stopped" if self.status is None else self.reason
        self.deadline = time.monotonic() + self.request.grace_s
        _kill(-self.pid, signal.SIGTERM)


def wake_on_signals() -> int:
    """A descriptor that yields the number of each signal that concerns us."""
    wake, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOP_SIGNALS):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    return wake


def _poll(wake: int, controller: int) -> tuple[select.poll, int]:
    """What to wait for, and the descriptor that is ready once the controller is dead."""
    poll = select.poll()
    for fd in (0, wake):
        poll.register(fd, select.POLLIN)
    try:
        alive = os.pidfd_open(controller)
    except OSError:  # an old kernel, or a sandbox: the end of the request pipe has to do
        return poll, -1
    poll.register(alive, select.POLLIN)
    return poll, alive


def descendants() -> dict[int, int]:
    """Every process below us that still runs, with its process group."""
    below: dict[int, list[tuple[int, int]]] = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{int(name)}/stat", "rb") as file:
                state, parent, leader = file.read().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):  # no process, or one that has just gone
            continue
        if state not in (b"Z", b"X"):
            below.setdefault(int(parent), []).append((int(name), int(leader)))
    found: dict[int, int] = {}
    todo = [os.getpid()]
    while todo:
        for pid, group in below.get(todo.pop(), ()):
            found[pid] = group
            todo.append(pid)
    return found


def freeze_descendants() -> None:
    """Stop the whole tree, so that nothing forks while it is being killed."""
    frozen: set[int] = set()
    for _ in range(FREEZE_ROUNDS):
        new = descendants().keys() - frozen
        if not new:
            return
        for pid in new:
            _kill(pid, signal.SIGSTOP)
        frozen |= new


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:  # gone already, or not ours to kill
        pass


def keep_from_command() -> None:
    """Descriptors handed to us (a card's lock) stay ours: the command does not inherit them."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:  # noqa: PLR2004  the three standard ones are set up for it
            try:
                os.set_inheritable(int(name), False)  # noqa: FBT003  its only signature
            except OSError:  # the descriptor of the listing itself
                pass


def report(line: str) -> None:
    """Tell the controller, if it still lives."""
    try:
        os.write(1, line.encode() + b"\n")
    except OSError:
        pass


def main() -> None:
    """Run the request on fd 0 to its end."""
    request = read_request()
    if request is None:
        return
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    keep_from_command()
    wake = wake_on_signals()
    try:
        pid = start(request)
    except CannotStart as error:
        report(f"error {error}")
        return
    report(f"pid {pid}")
    watch = Watch(pid, request, wake)
    watch.until_nothing_is_left()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak_bytes, cpu_s = used.ru_maxrss * 1024, used.ru_utime + used.ru_stime
    status = -signal.SIGKILL if watch.status is None else watch.status
    report(f"ended {int(status)} {watch.duration_s} {peak_bytes} {watch.reason} {cpu_s}")


if __name__ == "__main__":
    main()
    os._exit(0)  # nothing is left to tidy up, and the controller is waiting
