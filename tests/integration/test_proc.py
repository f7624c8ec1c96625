"""Children of run_logged: how they end, what they see, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.proc import Ended, run_logged, stop_on_signals, stripped_environment

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20

# Twenty sleepers, each a grandchild that left its session, and whose parent is gone.
FAMILY = """
import os, sys, time
for number in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with open(sys.argv[1], "a") as file:
                file.write(f"{os.getpid()}\\n")
            os.execvp("sleep", ["sleep", "600"])
        os._exit(0)
for number in range(20):
    os.wait()
while len(open(sys.argv[1]).readlines()) < 20:
    time.sleep(0.01)
print("all born", flush=True)
if sys.argv[2] == "stay":
    time.sleep(600)
"""


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def eventually(check: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if check():
            return True
        time.sleep(0.02)
    return check()


def pids_in(file: Path) -> list[int]:
    return [int(line) for line in file.read_text().split()]


class Runner:
    """run_logged in a folder, with a log, and a generous time limit unless told otherwise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"

    def __call__(
        self,
        *command: str,
        timeout_s: float = 60,
        env: dict[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        on_start: Callable[[int], None] | None = None,
        stop: threading.Event | None = None,
        keep_open: tuple[int, ...] = (),
    ) -> Ended:
        return run_logged(
            command,
            log=self.log,
            cwd=self.folder,
            env=stripped_environment() if env is None else env,
            timeout_s=timeout_s,
            on_line=on_line,
            on_start=on_start,
            stop=stop,
            keep_open=keep_open,
        )


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def family(tmp_path: Path) -> tuple[str, Path]:
    script = tmp_path / "family.py"
    script.write_text(FAMILY)
    return str(script), tmp_path / "pids"


def test_the_status_of_a_command_is_reported(runner: Runner) -> None:
    ended = runner("sh", "-c", "exit 7")
    assert (ended.status, ended.end) == (7, "exited")


def test_a_command_that_dies_of_a_signal_has_its_negative(runner: Runner) -> None:
    assert runner("sh", "-c", "kill -SEGV $$").status == -signal.SIGSEGV


def test_both_outputs_are_appended_to_the_log_in_order(runner: Runner) -> None:
    runner.log.write_text("before\n")
    runner("sh", "-c", "echo one; echo two >&2; echo three")
    assert runner.log.read_text() == "before\none\ntwo\nthree\n"


def test_lines_are_seen_as_they_come_and_the_unfinished_last_one_too(runner: Runner) -> None:
    runner.log.write_text("before\n")
    seen: list[str] = []
    go = runner.folder / "go"

    def on_line(line: str) -> None:
        seen.append(line)
        go.touch()  # the command waits for this: it proves that the line came while it ran

    ended = runner(
        "sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.01; done; printf two", on_line=on_line
    )
    assert ended.end == "exited"
    assert seen == ["one", "two"]


def test_the_pid_given_at_the_start_is_the_commands_and_leads_its_group(runner: Runner) -> None:
    pids: list[int] = []
    runner("sh", "-c", "echo $$; ps -o pgid= -p $$ 2>/dev/null || true", on_start=pids.append)
    words = runner.log.read_text().split()
    assert words[0] == str(pids[0])
    assert set(words) == {str(pids[0])}


def test_the_command_reads_nothing_and_inherits_no_descriptor_of_ours(runner: Runner) -> None:
    read_end, write_end = os.pipe()
    program = "import os, sys; print(sorted(os.listdir('/proc/self/fd')), sys.stdin.read() == '')"
    runner(sys.executable, "-c", program, keep_open=(write_end,))
    os.close(read_end)
    os.close(write_end)
    assert runner.log.read_text() == "['0', '1', '2', '3'] True\n"  # 3 is the listing itself


def test_a_descriptor_kept_open_is_closed_once_all_is_gone(runner: Runner) -> None:
    read_end, write_end = os.pipe()
    runner("true", keep_open=(write_end,))
    os.close(write_end)
    assert os.read(read_end, 1) == b""  # would block for ever if the guard still held the other end
    os.close(read_end)


def test_default_signals_reach_the_command(runner: Runner) -> None:
    # Python ignores SIGPIPE; a command must die of it, or `yes | head` never ends.
    program = "import signal; print(signal.getsignal(signal.SIGPIPE))"
    runner("sh", "-c", "yes | head -n 1; " + f'{sys.executable} -c "{program}"', timeout_s=30)
    ignored = subprocess.run(
        ["sh", "-c", "grep SigIgn /proc/self/status"], capture_output=True, text=True, check=True
    )
    runner.log.unlink()
    runner("sh", "-c", "grep SigIgn /proc/self/status")
    assert runner.log.read_text() == ignored.stdout


@pytest.mark.parametrize(
    ("command", "error"), [("absent-command", FileNotFoundError), ("/etc", PermissionError)]
)
def test_what_cannot_start_raises_the_systems_error(
    runner: Runner, command: str, error: type[OSError]
) -> None:
    with pytest.raises(error) as raised:
        runner(command)
    assert raised.value.filename == command


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        run_logged(
            ["true"], log=tmp_path / "log", cwd=tmp_path / "gone", env={"PATH": "/bin"}, timeout_s=9
        )
    assert raised.value.filename == str(tmp_path / "gone")


def test_a_hang_is_ended_by_the_time_limit(runner: Runner) -> None:
    ended = runner("sleep", "600", timeout_s=0.3)
    assert (ended.end, ended.status) == ("timeout", -signal.SIGTERM)


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ciwm.proc.GRACE_S", 0.3)
    ended = runner("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", timeout_s=0.3)
    assert (ended.end, ended.status) == ("timeout", -signal.SIGKILL)


def test_a_command_told_to_stop_may_save_what_it_has(runner: Runner) -> None:
    stop = threading.Event()
    script = "trap 'sleep 0.2; echo saved; exit 3' TERM; echo up; while :; do sleep 0.05; done"
    ended = runner("sh", "-c", script, stop=stop, on_line=lambda _line: stop.set())
    assert (ended.end, ended.status) == ("interrupted", 3)
    assert runner.log.read_text().endswith("\nsaved\n")


def test_a_child_of_a_shell_may_save_what_it_has_after_the_shell_is_gone(runner: Runner) -> None:
    stop = threading.Event()
    inner = "trap 'sleep 0.3; echo saved; exit' TERM; echo up; while :; do sleep 0.05; done"
    runner("sh", "-c", f'sh -c "{inner}" & wait', stop=stop, on_line=lambda _line: stop.set())
    assert runner.log.read_text().endswith("\nsaved\n")


def test_stop_set_before_the_start_ends_at_once(runner: Runner) -> None:
    stop = threading.Event()
    stop.set()
    assert runner("sleep", "600", stop=stop).end == "interrupted"


@pytest.mark.parametrize("mode", ["leave", "stay"])
def test_a_family_of_daemons_is_gone_at_the_end(
    runner: Runner, family: tuple[str, Path], mode: str
) -> None:
    script, pids = family
    stop = threading.Event()
    ended = runner(
        sys.executable, script, str(pids), mode, stop=stop, on_line=lambda _line: stop.set()
    )
    assert len(pids_in(pids)) == 20
    assert not [pid for pid in pids_in(pids) if runs(pid)]
    assert ended.end in ("exited", "interrupted")


def test_daemons_that_ignore_sigterm_and_keep_forking_are_gone_at_the_end(runner: Runner) -> None:
    forker = "trap '' TERM; echo $$ >> pids; while :; do sh -c 'sleep 0.05' & sleep 0.02; done"
    runner("sh", "-c", f'for n in 1 2 3; do setsid sh -c "{forker}" & done; sleep 0.5')
    pids = pids_in(runner.folder / "pids")
    assert pids
    assert not [pid for pid in pids if runs(pid)]


CONTROLLER = """
import os, sys
from pathlib import Path
from ciwm.proc import run_logged
folder = Path(sys.argv[1])
run_logged(sys.argv[2:], log=folder / "log", cwd=folder, env=dict(os.environ), timeout_s=600,
           on_start=lambda pid: (folder / "command").write_text(str(pid)))
"""


def controller(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CONTROLLER, str(folder), *command],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_killing_the_controller_kills_the_whole_family(
    tmp_path: Path, family: tuple[str, Path]
) -> None:
    script, pids = family
    parent = controller(tmp_path, sys.executable, script, str(pids), "stay")
    log = tmp_path / "log"
    assert eventually(lambda: log.exists() and "all born" in log.read_text())
    everyone = [*pids_in(pids), int((tmp_path / "command").read_text())]
    assert all(runs(pid) for pid in everyone)
    parent.kill()
    parent.wait()
    assert eventually(lambda: not any(runs(pid) for pid in everyone))


def test_killing_the_controller_kills_a_command_that_writes_without_end(tmp_path: Path) -> None:
    parent = controller(tmp_path, "sh", "-c", "trap '' TERM HUP PIPE; while :; do echo x; done")
    command = tmp_path / "command"
    assert eventually(lambda: command.exists() and command.read_text() != "")
    pid = int(command.read_text())
    parent.kill()
    parent.wait()
    assert eventually(lambda: not runs(pid))


def test_killing_the_guard_kills_the_command(runner: Runner) -> None:
    def kill_guard(pid: int) -> None:
        runner.folder.joinpath("command").write_text(str(pid))
        guard = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        os.kill(int(guard), signal.SIGKILL)

    ended = runner("sleep", "600", on_start=kill_guard)
    assert ended.status == -signal.SIGKILL
    pid = int(runner.folder.joinpath("command").read_text())
    assert eventually(lambda: not runs(pid))


def test_an_error_of_the_listener_leaves_nothing_running(runner: Runner) -> None:
    pids: list[int] = []

    def fail(_line: str) -> None:
        raise RuntimeError("listener")

    with pytest.raises(RuntimeError, match="listener"):
        runner("sh", "-c", "echo x; sleep 600", on_line=fail, on_start=pids.append)
    assert not runs(pids[0])


def test_a_hundred_megabytes_of_output_cost_little_memory(tmp_path: Path) -> None:
    program = f"""
import resource, sys
from pathlib import Path
from ciwm.proc import run_logged, stripped_environment
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lines = longest = 0
def see(line):
    global lines, longest
    lines += 1
    longest = max(longest, len(line))
writer = "import sys\\nfor n in range(100): sys.stdout.write('x' * 1000000)"
run_logged([sys.executable, "-c", writer],
           log=Path("log"), cwd=Path({str(tmp_path)!r}), env=stripped_environment(), timeout_s=120,
           on_line=see)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, lines, longest)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    grown_kib, lines, longest = map(int, done.stdout.split())
    assert (tmp_path / "log").stat().st_size == 100_000_000
    assert grown_kib < 20 * 1024
    assert lines > 1
    assert longest < 1 << 18  # a line without an end comes in pieces


def test_output_that_is_not_utf8_is_kept_and_shown(runner: Runner) -> None:
    seen: list[str] = []
    runner("printf", r"\377\376 x\n", on_line=seen.append)
    assert runner.log.read_bytes() == b"\xff\xfe x\n"
    assert seen == ["\ufffd\ufffd x"]


def test_arguments_and_variables_pass_byte_for_byte(runner: Runner) -> None:
    odd = os.fsdecode(b"\xff \n'\"$x")
    env = {**stripped_environment(), "ODD": odd, "LARGE": "x" * 100_000}
    program = (
        "import os, sys; env = os.environ;"
        "print(ascii(sys.argv[1]), ascii(env['ODD']), len(env['LARGE']))"
    )
    runner(sys.executable, "-c", program, odd, env=env)
    assert runner.log.read_text() == f"{odd!a} {odd!a} 100000\n"


def test_the_peak_is_that_of_the_largest_process(runner: Runner) -> None:
    program = "x = bytearray(200 << 20)"
    peak = runner("sh", "-c", f"{sys.executable} -c '{program}'; true").peak_rss_bytes
    assert 200 << 20 < peak < 300 << 20


SECRETS = {
    "GITHUB_TOKEN": "g",
    "GITHUB_OUTPUT": "/o",
    "GITHUB_SHA": "s",
    "ACTIONS_RUNTIME_TOKEN": "a",
    "ACTIONS_CACHE_URL": "u",
    "INPUT_TOKEN": "i",
    "HF_TOKEN": "h",
    "AWS_SECRET_ACCESS_KEY": "k",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "http.https://github.com/.extraheader",
    "GIT_CONFIG_VALUE_0": "AUTHORIZATION: basic c2VjcmV0",
    "DOCKER_AUTH_CONFIG": "{}",
    "DB_PASSWORD": "p",
    "SIGNING_KEY": "k",
    "npm_config__auth_token": "n",
    "GIT_DIR": "/elsewhere",
}


def test_secrets_and_the_jobs_identity_do_not_reach_children(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**SECRETS, "MAX_JOBS": "4", "RUNNER_TEMP": "/t"}.items():
        monkeypatch.setenv(name, value)
    runner("env")
    names = {line.partition("=")[0] for line in runner.log.read_text().splitlines()}
    assert not names & SECRETS.keys()
    assert {"MAX_JOBS", "RUNNER_TEMP", "PATH", "HOME"} <= names


def test_what_is_asked_for_reaches_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "h")
    assert stripped_environment({"HF_TOKEN": "h"}).get("HF_TOKEN") == "h"
    assert "HF_TOKEN" not in stripped_environment()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_first_signal_sets_the_event_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.wait(PATIENCE_S)
    assert signal.getsignal(number) == before


def test_a_second_interrupt_raises() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(PATIENCE_S)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_second_sigterm_is_only_a_reminder() -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.wait(PATIENCE_S)


def test_an_ignored_hangup_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_the_event_is_only_an_event() -> None:
    got: list[bool] = []

    def work() -> None:
        with stop_on_signals() as stop:
            got.append(stop.is_set())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(PATIENCE_S)
    assert got == [False]
