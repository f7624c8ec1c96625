"""Which clock fits which use of torch; the devices are stand-ins, this machine has none."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from ciwm.worker.clock import BarrierClock, EventClock, WallClock, clock_name, make_clock
from ciwm.worker.problem import Problem


class FakeCuda:
    """A device whose kernels take `kernel_s` a step at least, `elsewhere_s` more off its stream.

    Its events tell how long they did take: on a busy machine a sleep is longer than asked for.
    """

    def __init__(self, cards: int = 1, kernel_s: float = 0.0, elsewhere_s: float = 0.0) -> None:
        self.cards, self.kernel_s, self.elsewhere_s = cards, kernel_s, elsewhere_s
        self.synchronised: list[int | None] = []
        self.took_s = 0.0

    def is_initialized(self) -> bool:
        return True

    def device_count(self) -> int:
        return self.cards

    def memory_reserved(self, _card: int) -> int:
        return 1

    def synchronize(self, card: int | None = None) -> None:
        self.synchronised.append(card)
        began = time.perf_counter()
        time.sleep(self.kernel_s)
        self.took_s = time.perf_counter() - began
        time.sleep(self.elsewhere_s)

    def Event(self, *, enable_timing: bool) -> Any:  # noqa: N802  torch's name
        assert enable_timing
        return SimpleNamespace(record=lambda: None, elapsed_time=lambda _end: 1e3 * self.took_s)


def use_torch(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(**parts))


def test_without_torch_the_wall_is_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert clock_name() == "wall"
    assert isinstance(make_clock("wall"), WallClock)


def test_cuda_that_was_never_used_is_not_synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = FakeCuda()
    monkeypatch.setattr(cuda, "is_initialized", lambda: False)
    use_torch(monkeypatch, cuda=cuda)
    assert clock_name() == "wall"


def test_one_card_is_timed_by_its_events_with_one_barrier_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = FakeCuda(kernel_s=0.01)
    use_torch(monkeypatch, cuda=cuda)

    clock = make_clock(clock_name())
    result, seconds = clock.time(lambda: "loss")

    assert isinstance(clock, EventClock)
    assert result == "loss"
    assert seconds == pytest.approx(cuda.took_s)
    assert cuda.synchronised == [None]
    clock.check()


def test_several_cards_of_one_process_are_timed_until_all_are_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cuda = FakeCuda(cards=2, kernel_s=0.01)
    use_torch(monkeypatch, cuda=cuda)

    clock = make_clock(clock_name())
    _, seconds = clock.time(lambda: None)

    assert clock.name == "wall+cuda"
    assert cuda.synchronised == [0, 1]
    assert seconds >= 0.02


def test_work_left_on_another_stream_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    use_torch(monkeypatch, cuda=FakeCuda(kernel_s=0.001, elsewhere_s=0.05))
    clock = make_clock(clock_name())
    clock.time(lambda: None)

    with pytest.raises(Problem, match="leaves work on another stream"):
        clock.check()


def test_another_accelerator_is_timed_to_its_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    barriers: list[str] = []
    accelerator = SimpleNamespace(
        is_available=lambda: True,
        current_accelerator=lambda: SimpleNamespace(type="npu"),
        synchronize=lambda: barriers.append("npu"),
    )
    use_torch(
        monkeypatch, accelerator=accelerator, npu=SimpleNamespace(is_initialized=lambda: True)
    )

    clock = make_clock(clock_name())
    clock.time(lambda: None)

    assert isinstance(clock, BarrierClock)
    assert clock.name == "wall+npu"
    assert barriers == ["npu"]


def test_an_accelerator_the_workload_does_not_use_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = SimpleNamespace(
        is_available=lambda: True, current_accelerator=lambda: SimpleNamespace(type="xpu")
    )
    use_torch(
        monkeypatch, accelerator=accelerator, xpu=SimpleNamespace(is_initialized=lambda: False)
    )
    assert clock_name() == "wall"


def test_another_accelerator_with_events_of_its_own_is_timed_by_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    xpu = FakeCuda(kernel_s=0.002)
    xpu.__name__ = "torch.xpu"  # type: ignore[attr-defined]
    accelerator = SimpleNamespace(
        is_available=lambda: True, current_accelerator=lambda: SimpleNamespace(type="xpu")
    )
    use_torch(monkeypatch, accelerator=accelerator, xpu=xpu)

    clock = make_clock(clock_name())
    _, seconds = clock.time(lambda: None)

    assert isinstance(clock, EventClock)
    assert clock.name == "xpu-event"
    assert seconds == pytest.approx(xpu.took_s)
    assert xpu.synchronised == [None]


def test_events_that_tell_no_time_leave_the_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    def event(*, enable_timing: bool) -> Any:
        raise NotImplementedError(enable_timing)

    barriers: list[str] = []
    module = SimpleNamespace(
        __name__="torch.odd", Event=event, synchronize=lambda: barriers.append("odd")
    )
    accelerator = SimpleNamespace(
        is_available=lambda: True, current_accelerator=lambda: SimpleNamespace(type="odd")
    )
    use_torch(monkeypatch, accelerator=accelerator, odd=module)
    clock = make_clock(clock_name())
    clock.time(lambda: None)
    assert (clock.name, barriers) == ("wall+odd", ["odd"])
