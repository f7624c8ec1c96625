"""What the sampler costs: its own CPU time at 10 readings a second, and what it adds to a launch.

python tests/bench/sampler_cost.py [SECONDS]

With a C compiler and NVIDIA's header (PyPI: nvidia-nvml-dev) it reads a stand-in for one, and for
eight, cards by the real binding: with calls that cost next to nothing, which is the sampler itself,
and with calls of 20 us of CPU time. What a real driver's cost, `gpu_check.py` tells.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.launch.sampling import sampler, watched
from ciwm.records import Accelerator

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS, HZ, ROUNDS = 20.0, 10.0, 15
CALL_US = (0, 20)
ROOT = Path(__file__).resolve().parents[2]
STATE = """count 8
driver 590.12
{cards}
"""
CARD = """{n}.name NVIDIA H200
{n}.uuid GPU-{n}
{n}.memory 150754820096
{n}.sm_now 1755
{n}.memory_now 3201
{n}.temperature 61
{n}.power 412500
{n}.busy 97
{n}.used 42949672960
{n}.reasons 4
{n}.corrected 0
{n}.uncorrected 0
{n}.pids 1"""


def main() -> None:
    """Print the share of one core, without and with cards, and what a launch is longer by."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"CPUs only: {share(folder / 'cpu', (), seconds):.2%} of one core at {HZ:g} Hz")
        if stand_in(folder):
            for count, call_us in itertools.product((1, 8), CALL_US):
                cards = tuple(
                    Accelerator(index=n, vendor="nvidia", name="H200", uuid=f"GPU-{n}")
                    for n in range(count)
                )
                os.environ["FAKE_NVML_COST_US"] = str(call_us)
                used = share(folder / f"cards-{count}-{call_us}", cards, seconds)
                calls = f"calls of {call_us} us" if call_us else "calls for nothing"
                print(f"{count} cards ({calls}): {used:.2%} of one core at {HZ:g} Hz")
        added_ms = added(folder) * 1000
        print(f"a launch is longer by {added_ms:.1f} ms beside a sampler (median of {ROUNDS})")


def share(folder: Path, cards: tuple[Accelerator, ...], seconds: float) -> float:
    """CPU time over wall time of the sampler between its first reading and its last."""
    folder.mkdir()
    with sampler(cards, HZ) as watching, watched(watching, folder) as problems:
        time.sleep(seconds)
    lines = [json.loads(line) for line in (folder / "telemetry.jsonl").read_text().splitlines()]
    assert not problems, problems
    return float(lines[-1]["cpu_s"]) / float(lines[-1]["at_s"] - lines[0]["at_s"])


def stand_in(folder: Path) -> bool:
    """Compile the stand-in for the driver's library and make our children see it."""
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    headers = [path.parent for root in roots for path in root.glob("*/include/nvml.h")]
    if not headers:
        print("cards: not measured, nvidia-nvml-dev is not installed")
        return False
    library = folder / "libnvidia-ml.so.1"
    options = ["-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-isystem", str(headers[0])]
    source = ROOT / "tests" / "fakes" / "nvml.c"
    subprocess.run(["cc", *options, str(source), "-o", str(library)], check=True)
    cards = "\n".join(CARD.format(n=n) for n in range(8))
    (folder / "state").write_text(STATE.format(cards=cards))
    os.environ |= {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_STATE": str(folder / "state")}
    os.environ["FAKE_NVML_FROZEN"] = "1"
    return True


def added(folder: Path) -> float:
    """Seconds that a launch takes longer with a sampler that runs already, by turns."""
    place = folder / "launch"
    place.mkdir()
    taken: dict[str, list[float]] = {"bare": [], "watched": []}
    with sampler((), HZ) as watching:

        def bare() -> None:
            subprocess.run(["sleep", "0.2"], check=True)

        def beside() -> None:
            with watched(watching, place):
                bare()

        beside()
        for _ in range(ROUNDS):
            taken["bare"].append(timed(bare))
            taken["watched"].append(timed(beside))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    return medians["watched"] - medians["bare"]


def timed(work: Callable[[], None]) -> float:
    """Seconds of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
