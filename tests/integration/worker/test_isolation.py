"""The worker is a guest: it hides no module of the workload, and lets none hide its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import ciwm
from ciwm.launch.journal import read_journal
from tests.interpreters import python39

if TYPE_CHECKING:
    from tests.worker_bench import Bench

WORKER = Path(ciwm.__file__).parent / "worker"


def test_the_worker_is_python_39_by_its_syntax_and_library() -> None:
    run = "import vermin; vermin.main()"
    command = [sys.executable, "-c", run, "-t=3.9-", "--no-tips", "--violations", str(WORKER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_real_python_39_is_among_those_tested() -> None:
    if python39() is None:
        pytest.skip("no Python 3.9 on this machine")
    assert python39() != sys.executable


def test_the_workload_sees_no_module_of_the_worker_under_a_public_name(bench: Bench) -> None:
    names = sorted(path.stem for path in WORKER.glob("*.py") if path.stem != "__init__")
    bench.write(
        "w.py",
        "import importlib.util, sys\n"
        f"found = [name for name in {names!r} if importlib.util.find_spec(name)]\n"
        "ours = [path for path in sys.path if path.endswith('worker')]\n"
        "print('found', found, ours, 'ciwm' in sys.modules)\n"
        "def step(): pass\n",
    )

    worked = bench.run("w.py:step", schedule={"iterations": 1})

    assert "found [] [] False" in worked.output


def test_files_beside_the_workload_do_not_hide_the_standard_library(bench: Bench) -> None:
    for name in ("json", "random", "typing", "statistics"):
        bench.write(f"bench/{name}.py", "raise AssertionError('imported')\n")
    bench.write(
        "bench/w.py",
        "import json, random, common\ndef step(): json.dumps(random.random() + common.ONE)\n",
    )
    bench.write("bench/common.py", "ONE = 1\n")

    worked = bench.run("bench/w.py:step")

    assert worked.status == 0, worked.output


def test_a_workload_file_named_like_a_library_is_still_the_workload(bench: Bench) -> None:
    bench.write("bench/json.py", "import json\ndef step(): json.dumps(1)\n")

    worked = bench.run("bench/json.py:step")

    assert worked.status == 0, worked.output
    assert len(worked.values) == 5


def test_a_build_with_modules_named_like_the_library_does_not_break_the_worker(
    bench: Bench,
) -> None:
    for name in ("json", "argparse", "platform", "traceback", "typing"):
        bench.write(f"build/{name}.py", "NAME = 'theirs'\n")
    bench.write("w.py", "def step(): pass\n")
    build = {"PYTHONPATH": str(bench.folder / "build")}

    worked = bench.with_environment(build).run("w.py:step")

    assert worked.status == 0, worked.output


def test_the_builds_modules_win_over_files_beside_the_workload(bench: Bench) -> None:
    bench.write("build/framework.py", "print('of the build')\n")
    bench.write("bench/framework.py", "print('beside the workload')\n")
    bench.write("bench/w.py", "import framework\ndef step(): pass\n")
    build = {"PYTHONPATH": str(bench.folder / "build")}

    worked = bench.with_environment(build).run("bench/w.py:step")

    assert worked.output.strip() == "of the build"
    assert worked.journal.own_files == 1


def test_code_of_the_other_build_makes_a_launch_invalid(bench: Bench) -> None:
    bench.write("other/framework.py", "")
    bench.write("bench/w.py", "import framework\ndef step(): pass\n")
    shared = {"PYTHONPATH": str(bench.folder / "other")}

    worked = bench.with_environment(shared).run(
        "bench/w.py:step",
        own=[str(bench.folder / "bench")],
        foreign={str(bench.folder / "other"): "the head build"},
    )

    assert worked.status == 1
    assert worked.journal.error is not None
    reason, message = worked.journal.error
    assert reason == "invalid"
    assert f"loaded {bench.folder}/other/framework.py from the head build" in message


def test_a_shared_library_of_the_other_build_makes_a_launch_invalid(
    bench: Bench, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    library = tmp_path / "other" / "libkernel.so"
    source = bench.write("kernel.c", "int one(void) { return 1; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    bench.write(
        "bench/w.py",
        f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\ndef step(): library.one()\n",
    )

    worked = bench.run(
        "bench/w.py:step",
        own=[str(tmp_path / "bench")],
        foreign={str(tmp_path / "other"): "the head build"},
    )

    assert worked.journal.error is not None
    assert "libkernel.so from the head build" in worked.journal.error[1]


def test_garbage_on_every_descriptor_does_not_reach_the_journal(bench: Bench) -> None:
    bench.write(
        "w.py",
        "import os\n"
        "def step():\n"
        "    for fd in range(1, 256):\n"
        '        try: os.write(fd, b\'\\xff\\x00{"kind": "samples"}\\n\')\n'
        "        except OSError: pass\n",
    )

    worked = bench.run("w.py:step")

    assert worked.status == 0
    assert worked.journal.unreadable == 0
    assert worked.journal.ended
    assert len(worked.values) == 5


def test_closing_every_descriptor_does_not_stop_the_journal(bench: Bench) -> None:
    bench.write("w.py", "import os\ndef step(): os.closerange(0, 256)\n")

    worked = bench.run("w.py:step")

    assert worked.journal.ended
    assert len(worked.values) == 5


def test_sigkill_loses_at_most_a_fraction_of_a_second(bench: Bench) -> None:
    bench.write("w.py", "import time\ndef step(): time.sleep(0.01)\n")
    child = bench.start("w.py:step", schedule={"iterations": 100_000})
    began = time.monotonic()
    while not read_journal(bench.journal).samples:
        assert time.monotonic() - began < 30
        time.sleep(0.01)
    time.sleep(1.0)

    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=30)

    (samples,) = read_journal(bench.journal).samples
    assert sum(samples.values) >= 0.5


def test_a_worker_leaves_when_its_controller_has_died(bench: Bench) -> None:
    bench.write(
        "w.py", "import os, time\nprint(os.getpid(), flush=True)\ndef step(): time.sleep(.01)\n"
    )
    starter = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)\n"
        "print(int(child.stdout.readline()), flush=True)\n"
    )
    child = bench.start("w.py:step", schedule={"iterations": 100_000})
    command = list(map(str, child.args)) if isinstance(child.args, list) else []
    child.kill()
    child.communicate(timeout=30)

    done = subprocess.run(
        [sys.executable, "-c", starter, *command],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    pid = int(done.stdout)
    began = time.monotonic()
    while Path(f"/proc/{pid}/stat").exists() and not _is_dead(pid):
        assert time.monotonic() - began < 30
        time.sleep(0.05)


def _is_dead(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True
