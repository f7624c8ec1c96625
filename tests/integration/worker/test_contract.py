"""What a `python` workload may look like, and what the worker makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.worker_bench import Bench


def test_a_step_without_setup_gets_the_parameters_at_every_iteration(bench: Bench) -> None:
    bench.write(
        "w.py",
        "calls = []\n"
        "def step(batch, name):\n"
        "    calls.append((batch, name))\n"
        "def teardown(batch, name):\n"
        "    print('calls', calls, 'teardown', (batch, name))\n",
    )

    worked = bench.run("w.py:step", params={"batch": 2, "name": "x"}, schedule={"iterations": 3})

    assert worked.status == 0
    assert len(worked.values) == 3
    assert "calls [(2, 'x'), (2, 'x'), (2, 'x')] teardown (2, 'x')" in worked.output


def test_a_setup_makes_the_state_once_and_the_step_gets_only_that(bench: Bench) -> None:
    bench.write(
        "w.py",
        "def setup(batch):\n"
        "    print('setup', batch)\n"
        "    return ['state', batch]\n"
        "def step(state):\n"
        "    print('step', state)\n"
        "def teardown(state):\n"
        "    print('teardown', state)\n",
    )

    worked = bench.run("w.py:step", params={"batch": 8}, schedule={"iterations": 2})

    lines = worked.output.splitlines()
    assert lines == ["setup 8", *["step ['state', 8]"] * 2, "teardown ['state', 8]"]


def test_a_method_is_timed_on_an_object_made_of_the_parameters(bench: Bench) -> None:
    bench.write(
        "w.py",
        "class Model:\n"
        "    def __init__(self, n): self.n = n; print('made', n)\n"
        "    def step(self): print('step', self.n)\n"
        "    def teardown(self): print('gone')\n",
    )

    worked = bench.run("w.py:Model.step", params={"n": 4}, schedule={"iterations": 2})

    assert worked.output.splitlines() == ["made 4", "step 4", "step 4", "gone"]


def test_warm_up_ends_only_when_both_its_count_and_its_time_are_met(bench: Bench) -> None:
    bench.write("w.py", "import time\ndef step(s): time.sleep(s)\n")

    by_time = bench.run(
        "w.py:step", params={"s": 0.01}, schedule={"warmup_iterations": 1, "warmup_s": 0.2}
    )
    bench.journal.unlink()
    by_count = bench.run(
        "w.py:step", params={"s": 0.01}, schedule={"warmup_iterations": 30, "warmup_s": 0.01}
    )

    assert 2 <= by_time.journal.warmup_iterations <= 20
    assert by_count.journal.warmup_iterations == 30
    assert len(by_time.values) == len(by_count.values) == 5


def test_each_set_of_parameters_is_a_series_with_its_own_setup(bench: Bench) -> None:
    bench.write("w.py", "def setup(n): print('setup', n)\ndef step(state): pass\n")

    worked = bench.run(
        "w.py:step",
        series=[{"series": f"w/n={n}", "params": {"n": n}} for n in (1, 2)],
    )

    assert [one.series for one in worked.journal.samples] == ["w/n=1", "w/n=2"]
    assert worked.output.splitlines() == ["setup 1", "setup 2"]


def test_times_are_in_the_unit_of_the_metric(bench: Bench) -> None:
    bench.write("w.py", "import time\ndef step(): time.sleep(0.02)\n")

    worked = bench.run("w.py:step", schedule={"time_scale": 1e3})

    assert all(value >= 20 for value in worked.values)


def test_a_step_may_report_metrics_of_its_own(bench: Bench) -> None:
    bench.write("w.py", "def step(): return {'tokens': 12, 'ignored': 'x'}\n")

    worked = bench.run("w.py:step", schedule={"time_metric": None, "reported": ["tokens"]})

    (samples,) = worked.journal.samples
    assert (samples.metric, samples.values) == ("tokens", (12.0,) * 5)


def test_a_metric_that_the_step_does_not_report_is_named(bench: Bench) -> None:
    bench.write("w.py", "def step(): return {'token': 12}\n")

    worked = bench.run("w.py:step", schedule={"time_metric": None, "reported": ["tokens"]})

    assert worked.journal.error == ("invalid", "the step did not report tokens (it has: token)")


def test_a_generator_step_is_invalid_because_nothing_of_it_ran(bench: Bench) -> None:
    bench.write("w.py", "def step():\n    yield 1\n")

    worked = bench.run("w.py:step")

    assert worked.journal.error == (
        "invalid",
        "the step returned a generator, so nothing of it ran",
    )
    assert worked.journal.samples == ()


ASYNC_GENERATOR = "async def step():\n    yield 1\n"
LAZY = "def step(): return map(print, [1])\n"
FUTURE = (
    "from concurrent.futures import ThreadPoolExecutor\n"
    "pool = ThreadPoolExecutor(1)\n"
    "def step(): return pool.submit(sum, range(1000))\n"
)
HANDLE = (  # as torch.distributed gives for async_op=True
    "class Work:\n"
    "    def is_completed(self): return False\n"
    "    def wait(self): pass\n"
    "def step(): return Work()\n"
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ASYNC_GENERATOR, "an async_generator, so nothing of it ran"),
        (LAZY, "a map, so nothing of it ran"),
        (FUTURE, "a Future, and did not wait for its work"),
        (HANDLE, "a Work, and did not wait for its work"),
    ],
)
def test_a_step_that_only_begins_its_work_is_invalid(bench: Bench, text: str, told: str) -> None:
    bench.write("w.py", text)
    worked = bench.run("w.py:step")
    assert worked.journal.error == ("invalid", f"the step returned {told}")
    assert worked.journal.samples == ()


def test_a_workload_that_patches_the_clock_is_timed_by_the_real_one(bench: Bench) -> None:
    bench.write(
        "w.py",
        "import time\n"
        "sleep = time.sleep\n"
        "def setup():\n"
        "    time.monotonic = lambda: 5.0\n"
        "    time.perf_counter_ns = lambda: 10**15\n"
        "def step(_state): sleep(0.02)\n",
    )
    worked = bench.run("w.py:step", schedule={"warmup_s": 0.05})
    assert worked.status == 0, worked.output
    assert all(0.02 <= value < 2 for value in worked.values)


def test_a_module_that_loads_lazily_is_not_asked_for_its_file(bench: Bench) -> None:
    bench.write(
        "w.py",
        "import sys\n"
        "class Lazy:\n"
        "    def __getattr__(self, name): raise RuntimeError('what it needs is not installed')\n"
        "sys.modules['lazy'] = Lazy()\n"
        "def step(): pass\n",
    )
    worked = bench.run("w.py:step")
    assert (worked.status, worked.journal.error) == (0, None)
    assert len(worked.values) == 5


def test_nan_is_invalid_and_what_was_measured_before_is_kept(bench: Bench) -> None:
    bench.write(
        "w.py",
        "losses = iter([0.5, 0.4, float('nan'), 0.3, 0.2])\ndef step(): return next(losses)\n",
    )

    worked = bench.run("w.py:step")

    assert worked.status == 1
    assert worked.journal.error == ("invalid", "the step returned nan")
    assert len(worked.values) == 2


def test_an_exception_is_one_line_with_its_place(bench: Bench) -> None:
    bench.write("w.py", "def step():\n    raise ValueError('bad\\nshape')\n")

    worked = bench.run("w.py:step")

    assert worked.journal.error == ("failed", "ValueError: bad shape (w.py:2 in step)")
    assert "Traceback (most recent call last)" in worked.output


def test_an_exception_of_the_framework_is_told_with_both_places(bench: Bench) -> None:
    bench.write("engine/attention.py", "def forward(x):\n    raise KeyError('head_dim')\n")
    bench.write("bench/w.py", "from engine import attention\ndef step(): attention.forward(1)\n")

    error = bench.run("bench/w.py:step", path=[str(bench.folder)]).journal.error

    assert error == (
        "failed",
        "KeyError: 'head_dim' (engine/attention.py:2 in forward, called at w.py:2 in step)",
    )


def test_memory_errors_are_out_of_memory(bench: Bench) -> None:
    bench.write("w.py", "def step(): raise MemoryError\n")
    assert bench.run("w.py:step").journal.error == ("oom", "MemoryError (w.py:1 in step)")


def test_torchs_out_of_memory_is_told_by_its_name(bench: Bench) -> None:
    bench.write(
        "w.py",
        "class OutOfMemoryError(RuntimeError): pass\n"
        "def step(): raise OutOfMemoryError('CUDA out of memory. Tried to allocate 20 GiB')\n",
    )
    error = bench.run("w.py:step").journal.error
    assert error is not None
    assert error[0] == "oom"


def test_sys_exit_in_a_step_is_a_failure_not_an_end(bench: Bench) -> None:
    bench.write("w.py", "import sys\ndef step(): sys.exit(0)\n")

    worked = bench.run("w.py:step")

    assert worked.status == 1
    assert worked.journal.error == (
        "failed",
        "the workload called sys.exit(0) (w.py:2 in step)",
    )


def test_a_missing_callable_and_a_class_without_method_say_what_to_write(bench: Bench) -> None:
    bench.write("w.py", "class Model: pass\n")

    missing = bench.run("w.py:stepp").journal.error
    bench.journal.unlink()
    bare = bench.run("w.py:Model").journal.error

    assert missing == ("failed", f"there is no stepp in {bench.folder / 'w.py'}")
    assert bare == ("failed", "Model is a class: name its method too, as Class.step")


def test_a_module_that_does_not_import_is_a_failure_with_the_reason(bench: Bench) -> None:
    bench.write("w.py", "import a_framework_that_is_not_installed\n")
    error = bench.run("w.py:step").journal.error
    assert error is not None
    assert error[1].startswith("ModuleNotFoundError: No module named 'a_framework_that")


def test_a_fork_that_falls_through_measures_nothing_twice(bench: Bench) -> None:
    bench.write("w.py", "import os\ndef step():\n    if os.fork(): os.wait()\n")

    worked = bench.run("w.py:step")

    assert worked.status == 0
    assert len(worked.values) == 5


def test_spawned_children_of_a_workload_work(bench: Bench) -> None:
    bench.write(
        "w.py",
        "import multiprocessing\n"
        "def square(x): return x * x\n"
        "def step():\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(square, [3]))\n",
    )

    worked = bench.run("w.py:step", schedule={"iterations": 1})

    assert worked.status == 0, worked.output
    assert "[9]" in worked.output
