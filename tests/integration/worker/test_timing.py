"""How steps are warmed up and timed; the counts are of real calls, no time is asserted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.need import missing

if TYPE_CHECKING:
    from tests.worker_bench import Bench, Worked

COUNTED = """
import pathlib
CALLS = pathlib.Path(__file__).with_name("calls")
def note(text):
    with CALLS.open("a") as calls: calls.write(text + "\\n")
"""


def journalled(bench: Bench, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in bench.journal.read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def calls(bench: Bench) -> list[str]:
    return (bench.folder / "calls").read_text().split()


def values(worked: Worked) -> dict[str, tuple[float, ...]]:
    assert worked.status == 0, worked.output
    return {one.metric: one.values for one in worked.journal.samples}


def test_inputs_are_gone_through_round_by_round(bench: Bench) -> None:
    bench.write("w.py", COUNTED + "def inputs(): return 'abc'\ndef step(one): note(one)\n")
    assert bench.run("w.py:step").status == 0
    assert calls(bench) == list("abcab")


def test_inputs_are_made_of_the_state_or_by_the_object(bench: Bench) -> None:
    bench.write(
        "w.py",
        COUNTED + "def setup(n): return n\n"
        "def inputs(state): return range(state)\n"
        "def step(state, one): note(f'{state}:{one}')\n"
        "class Work:\n"
        "    def __init__(self, n): self.n = n\n"
        "    def inputs(self): return [self.n, -self.n]\n"
        "    def step(self, one): note(str(one))\n",
    )
    assert bench.run("w.py:step", params={"n": 2}).status == 0
    assert bench.run("w.py:Work.step", params={"n": 7}).status == 0
    assert calls(bench) == ["2:0", "2:1", "2:0", "2:1", "2:0", "7", "-7", "7", "-7", "7"]


def test_inputs_without_a_setup_get_the_parameters_as_the_step_does(bench: Bench) -> None:
    bench.write(
        "w.py",
        COUNTED + "def inputs(n): return [10 * n]\ndef step(one, n): note(f'{one}:{n}')\n",
    )
    assert bench.run("w.py:step", params={"n": 4}).status == 0
    assert set(calls(bench)) == {"40:4"}


def test_no_inputs_at_all_is_a_failure_that_says_so(bench: Bench) -> None:
    bench.write("w.py", "def inputs(): return []\ndef step(one): pass\n")
    worked = bench.run("w.py:step")
    assert worked.journal.error == ("failed", "inputs gave nothing to call the step with")


def test_very_short_steps_are_timed_many_at_a_time_and_long_ones_alone(bench: Bench) -> None:
    bench.write("w.py", "import time\ndef short(): pass\ndef long(): time.sleep(0.001)\n")
    schedule = {"batch": 0, "warmup_s": 0.11, "warmup_max_s": 1}

    short = bench.run("w.py:short", schedule=schedule)
    (one,) = short.journal.samples
    assert len(one.values) == 5
    # a call takes 20 ns to 5 us on any machine, and a sample at least 50 us: powers of ten
    assert one.calls in (100, 1000, 10000)

    bench.journal.unlink()
    (alone,) = bench.run("w.py:long", schedule=schedule).journal.samples
    assert alone.calls == 1


def test_a_stated_batch_is_that_many_calls_a_sample_over_all_inputs(bench: Bench) -> None:
    bench.write("w.py", COUNTED + "def inputs(): return 'abc'\ndef step(one): note(one)\n")
    worked = bench.run("w.py:step", schedule={"batch": 4})
    (one,) = worked.journal.samples
    assert (len(one.values), one.calls) == (5, 4)
    assert "".join(calls(bench)) == ("abc" * 7)[:20]


def test_steps_that_report_are_never_batched(bench: Bench) -> None:
    bench.write("w.py", "def step(): return {'loss': 1.5}\n")
    schedule = {"batch": 0, "warmup_s": 0.11, "warmup_max_s": 1, "reported": ["loss"]}
    found = bench.run("w.py:step", schedule=schedule).journal.samples
    assert {one.metric: (len(one.values), one.calls) for one in found} == {
        "step_time": (5, 1),
        "loss": (5, 1),
    }


def test_warm_up_is_bounded_and_a_level_that_never_came_is_told(bench: Bench) -> None:
    bench.write("w.py", "import time\ndef step(): time.sleep(0.2)\n")
    worked = bench.run("w.py:step", schedule={"warmup_iterations": 1, "warmup_max_s": 0.1})
    assert worked.status == 0, worked.output
    (warmup,) = journalled(bench, "warmup")
    assert (warmup["iterations"], warmup["steady"]) == (1, False)
    assert worked.journal.unsteady == ["w"]


def test_warm_up_ends_once_the_level_is_steady(bench: Bench) -> None:
    bench.write("w.py", "import time\ndef step(): time.sleep(0.02)\n")
    worked = bench.run("w.py:step", schedule={"warmup_iterations": 1, "warmup_max_s": 100})
    assert worked.status == 0, worked.output
    (warmup,) = journalled(bench, "warmup")
    assert warmup["steady"]
    assert warmup["iterations"] >= 11  # a cold one, and two levels of five
    assert worked.journal.unsteady == []


def test_without_any_warm_up_nothing_runs_before_the_timing(bench: Bench) -> None:
    bench.write("w.py", COUNTED + "def step(): note('x')\n")
    assert bench.run("w.py:step", schedule={"warmup_max_s": 5}).status == 0
    assert len(calls(bench)) == 5


def test_the_cold_first_step_and_the_peak_of_memory_have_one_value_a_launch(
    bench: Bench,
) -> None:
    bench.write(
        "w.py",
        "import time\n"
        "cold = [True]\n"
        "def step():\n"
        "    if cold.pop() if cold else False: time.sleep(0.3)\n"
        "held = bytearray(64 << 20)\n",
    )
    once = {"first_step_time": 1e3, "peak_rss": 2.0**-20}
    found = values(bench.run("w.py:step", schedule={"warmup_iterations": 2, "once": once}))
    assert len(found["step_time"]) == 5
    (first_ms,) = found["first_step_time"]
    (peak_mib,) = found["peak_rss"]
    assert first_ms >= 300
    assert 64 < peak_mib < 1000


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("first_step_time", "no first step without warmup_iterations"),
        ("compile_time", "this torch does not say how long it compiled"),
        ("peak_device_memory", "torch, which uses no accelerator here, does not tell it"),
    ],
)
def test_a_value_that_there_is_not_is_named_and_never_zero(
    bench: Bench, metric: str, said: str
) -> None:
    bench.write("w.py", "def step(): pass\n")
    worked = bench.run("w.py:step", schedule={"once": {metric: 1.0}})
    assert worked.journal.error == ("invalid", f"{metric}: {said}")


def test_steps_after_a_flush_are_timed_one_by_one(bench: Bench) -> None:
    bench.write("w.py", "def step(): pass\n")
    schedule = {"flush_cache": True, "batch": 0, "warmup_s": 0.11, "warmup_max_s": 1}
    (one,) = bench.run("w.py:step", schedule=schedule).journal.samples
    assert (len(one.values), one.calls) == (5, 1)


@pytest.mark.heavy
def test_torchs_compile_time_is_a_metric_of_its_own(bench: Bench) -> None:
    if "venv" not in bench.python:
        missing("torch is in the environment of the tests only")
    bench.write(
        "w.py",
        "import torch\n"
        "def setup():\n"
        "    x = torch.ones(8)\n"
        "    return torch.compile(lambda: (x * 2).sum(), backend='eager')\n"
        "def step(compiled): compiled()\n",
    )
    once = {"compile_time": 1.0, "first_step_time": 1.0}
    found = values(bench.run("w.py:step", schedule={"warmup_iterations": 2, "once": once}))
    (compiled_s,) = found["compile_time"]
    (first_s,) = found["first_step_time"]
    assert 0 < compiled_s <= first_s  # all of it happens in the first step


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return numpy.float32('nan')", "a float32 that is not finite"),
        ("return numpy.array([1, float('inf')])", "a ndarray that is not finite"),
        ("return numpy.arange(3)", None),
        ("return torch.tensor([1, float('nan')])", "a tensor with NaN or infinity in it"),
        ("return torch.futures.Future()", "a Future, and did not wait for its work"),
    ],
)
def test_what_numpy_and_torch_return_must_be_finite_and_done(
    bench: Bench, line: str, told: str | None
) -> None:
    if "venv" not in bench.python:
        missing("torch is in the environment of the tests only")
    bench.write("w.py", f"import numpy, torch\ndef step():\n    {line}\n")
    error = bench.run("w.py:step").journal.error
    assert error == (None if told is None else ("invalid", f"the step returned {told}"))
