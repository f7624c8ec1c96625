"""Watches cards and CPUs while launches run, one after another.

A process of its own, started for a block by path as `python -I -S sampler.py`. It loads no records,
keeps off the launches' CPUs where it may, and appends JSON lines to a file a launch. It ends when
its request pipe does: told so, or because its controller died, by SIGKILL too.

fd 0  JSON lines: first the request, with `path` (of imports), `hz`, `controller` (a pid) and
      `cards` ({"index", "vendor", "uuid"} each); then {"out": FILE} as a launch begins, {} as it
      ends
fd 1  a line for each end of a launch: empty, or why its file is not whole
out   {"kind": "start" | "card" | "host" | "errors" | "event" | "problem" | "end", "at_s": ...}
      `at_s` is monotonic time; a `problem` names the card it is about
fd 2  why it could not go on
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciwm.devices.meter import Meter, Reading
    from ciwm.devices.owners import Owners

FLUSH_S = 1.0  # what a SIGKILL can cost at most
SLOW_EVERY = 5  # once in so many readings all is read: what voids nothing, or stays till it is seen
FREQUENCY_EVERY_S = 2.0
HANG_S = 5.0  # that a driver may take for the last reading
ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode  # made once: it is dear
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Journal:
    """JSON lines, gathered for a moment and appended."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lines: list[str] = []
        self._flushed = time.monotonic()

    def add(self, kind: str, **fields: Any) -> None:
        """Gather a line; what is None or empty is left out."""
        said = {key: value for key, value in fields.items() if value not in (None, (), [], "")}
        line = {"kind": kind, "at_s": round(time.monotonic(), 4), **said}
        self._lines.append(ENCODE(line))

    def tick(self) -> None:
        """Write what is due."""
        if time.monotonic() - self._flushed >= FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write what is gathered; raises OSError on a full disk."""
        lines, self._lines = self._lines, []
        data = memoryview("".join(f"{line}\n" for line in lines).encode())
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        handle = os.open(self._path, flags, 0o644)
        try:
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)
        self._flushed = time.monotonic()


class Card:
    """One card under watch, or why it cannot be."""

    def __init__(self, card: dict[str, Any], owners: Owners) -> None:
        from ciwm.devices.meter import Gone, open_meter  # noqa: PLC0415  by the request's path

        self.index = card["index"]
        self.problem = ""
        self._gone = Gone
        self._owners = owners
        self._meter: Meter | None = None
        try:
            self._meter = open_meter(card)
        except Gone as error:
            self.problem = str(error)
        else:
            self.problem = "" if self._meter else f"no meter reads {card['vendor']} cards"

    def read(self, out: Journal, *, thorough: bool, edge: bool) -> None:
        """Write down what it does now; a card that no longer answers is not asked again."""
        if self._meter is None:
            return
        try:
            self._read(self._meter, out, thorough=thorough, edge=edge)
        except self._gone as error:
            self.problem, self._meter = str(error), None
            out.add("problem", card=self.index, what=self.problem)

    def _read(self, meter: Meter, out: Journal, *, thorough: bool, edge: bool) -> None:
        reading: Reading = meter.read(thorough=thorough)
        company = self._company(meter) if thorough else {}
        out.add("card", card=self.index, **reading._asdict(), **company)
        for complaint in meter.complaints():
            out.add("problem", card=self.index, what=complaint)
        for xid in meter.events() if thorough else ():
            out.add("event", card=self.index, xid=xid)
        if edge:
            out.add("errors", card=self.index, **meter.errors()._asdict())

    def _company(self, meter: Meter) -> dict[str, Any]:
        """Processes on the card that are not the launch's own, as far as that can be told."""
        found = [(pid, self._owners.of(pid)) for pid in meter.processes()]
        return {
            "foreign": [[pid, owner.name] for pid, owner in found if owner.whose == "foreign"],
            "hidden": [pid for pid, owner in found if owner.whose == "hidden"],
        }


class Sampler:
    """The cards and CPUs, and the file of the launch that is running."""

    def __init__(self, request: dict[str, Any]) -> None:
        from ciwm.devices import cpu_meter  # noqa: PLC0415
        from ciwm.devices.owners import Owners  # noqa: PLC0415

        self._cpu = cpu_meter
        self._hz = request["hz"]
        owners = Owners(request["controller"])
        self._cards = [Card(card, owners) for card in request["cards"]]

    def watch(self, path: str, orders: Orders, cpus: tuple[list[int], bool]) -> str:
        """Read until the next order; why the file is not whole, or nothing."""
        out = Journal(path)
        self._zero, self._frequency_at = self._cpu.load(), 0.0
        used_s = time.process_time()
        out.add("start", pid=os.getpid(), hz=self._hz, cpus=cpus[0], apart=cpus[1])
        for card in self._cards:
            if card.problem:
                out.add("problem", card=card.index, what=card.problem)
        try:
            self._read(out, thorough=True, edge=True)
            out.flush()
            self._read_on(out, orders)
            stopped = "it was told to stop before the launch had ended" if orders.over else ""
            self._read(out, thorough=True, edge=True)
            out.add("end", cpu_s=round(time.process_time() - used_s, 4))
            out.flush()
        except OSError as error:
            return error.strerror or str(error)
        return stopped

    def _read_on(self, out: Journal, orders: Orders) -> None:
        """Reading after reading; one that comes late is not made up for."""
        period_s = 1 / self._hz
        count, due = 1, time.monotonic() + period_s
        while not orders.wait(max(due - time.monotonic(), 0.0)):
            self._read(out, thorough=count % SLOW_EVERY == 0, edge=False)
            out.tick()
            count += 1
            due = max(due + period_s, time.monotonic())

    def _read(self, out: Journal, *, thorough: bool, edge: bool) -> None:
        for card in self._cards:
            card.read(out, thorough=thorough, edge=edge)
        if thorough:
            self._host(out, edge=edge)

    def _host(self, out: Journal, *, edge: bool) -> None:
        now = self._cpu.load()
        told: dict[str, Any] = {
            name: round(value - before, 3)
            for name, value, before in zip(now._fields, now, self._zero, strict=True)
        }
        if edge or time.monotonic() - self._frequency_at >= FREQUENCY_EVERY_S:
            told["mhz"] = self._cpu.frequency_mhz()
            self._frequency_at = time.monotonic()
        if edge:
            told["throttled_s"] = self._cpu.quota_throttled_s()
            told["thermal_throttles"] = self._cpu.thermal_throttles()
        out.add("host", **told)


class Orders:
    """The lines on fd 0, and the signals that end us."""

    def __init__(self) -> None:
        self.over = False
        self._text = b""
        self._wake, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            signal.signal(number, lambda *_: None)

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for an order; whether there is one, or we are to end."""
        if b"\n" in self._text:
            return True
        ready = select.select([0, self._wake], [], [], timeout_s)[0]
        if 0 in ready:
            part = os.read(0, 1 << 16)
            self._text += part
            self.over = self.over or not part
        self.over = self.over or self._wake in ready
        return self.over or b"\n" in self._text

    def next(self) -> dict[str, Any] | None:
        """The next order; None when we are to end."""
        while not self.over and b"\n" not in self._text:
            self.wait(None)
        if self.over:
            return None
        line, _, self._text = self._text.partition(b"\n")
        order: dict[str, Any] = json.loads(line)
        return order


def keep_off(workload: set[int]) -> tuple[list[int], bool]:
    """Take a CPU that the launches do not use, else the last of theirs; and whether it is apart.

    Launches may use what their controller may. Beyond that there are CPUs where somebody was given
    fewer than the machine (or its cpuset) has.
    """
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        spare = os.sched_getaffinity(0) - workload
        chosen = {max(spare or workload)}
        os.sched_setaffinity(0, chosen)
    except OSError:  # a sandbox that does not let us choose
        return sorted(os.sched_getaffinity(0)), False
    return sorted(chosen), bool(spare)


def end_in_any_case() -> None:
    """Once the controller is gone, end even where a driver keeps us in a call without an end."""
    import threading  # noqa: PLC0415  loaded by psutil in any case

    def wait() -> None:
        poll = select.poll()
        poll.register(0, 0)  # hang-ups only
        poll.poll()
        time.sleep(HANG_S)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Watch launch after launch."""
    orders = Orders()
    request = orders.next()
    if request is None:
        return
    cpus = keep_off(os.sched_getaffinity(0))
    sys.path[:] = request["path"]
    end_in_any_case()
    sampler = Sampler(request)
    while (order := orders.next()) is not None:
        if "out" in order:
            problem = sampler.watch(order["out"], orders, cpus)
            os.write(1, f"{' '.join(problem.split())}\n".encode())


if __name__ == "__main__":
    main()
