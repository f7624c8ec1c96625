"""What makes a launch void: what its card, or its machine, was doing meanwhile.

A rule looks at conditions, never at values, and treats all launches of a block alike, so that
discarding a block leaves the order of the others random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.gate_config import VoidConfig, matches
from ciwm.policy.blocks import blocks, complete
from ciwm.policy.words import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ciwm.records import Launch, Telemetry

RULES = VoidConfig()
POWER_CAP = "sw_power_cap"


def void_reasons(block: Sequence[Launch], rules: VoidConfig = RULES) -> tuple[str, ...]:
    """For each launch of a block what broke its conditions, in words; empty when nothing did.

    The clock of a card that is not held at one is compared with the highest of the block. A block
    that was spread over nodes compares machines.
    """
    nodes = sorted({plain(launch.node) for launch in block if launch.node})
    if len(nodes) > 1:
        return (f"its block ran on several nodes ({', '.join(nodes)})",) * len(block)
    highest: dict[int, int] = {}
    for window in (window for launch in block for window in launch.telemetry):
        clock = window.sm_clock_busy_mhz or 0
        highest[window.accelerator] = max(highest.get(window.accelerator, 0), clock)
    return tuple(next(_broken(launch, highest, rules), "") for launch in block)


def counted(launches: Iterable[Launch], rules: VoidConfig = RULES) -> list[Launch]:
    """The launches of complete blocks that no condition made void."""
    whole = (block for block in blocks(launches) if complete(block))
    return [one for block in whole if not any(void_reasons(block, rules)) for one in block]


def void_reason(launch: Launch, rules: VoidConfig = RULES) -> str:
    """What broke the conditions of a launch by itself; empty when nothing did."""
    return void_reasons([launch], rules)[0]


def _broken(launch: Launch, highest: dict[int, int], rules: VoidConfig) -> Iterator[str]:
    for window in launch.telemetry:
        yield from _on_card(window, highest[window.accelerator], rules)
    host = launch.host
    if host is None:
        return
    if rules.cpu_thermal and host.thermal_throttles:
        yield "CPU cores were slowed for heat"
    if rules.max_steal_pct is not None and (host.steal_mean_pct or 0) > rules.max_steal_pct:
        yield f"other guests took more than {rules.max_steal_pct:g} % of the CPU time (steal)"
    if rules.max_other_cpus is not None and (host.other_cpus or 0) > rules.max_other_cpus:
        yield f"other processes kept more than {rules.max_other_cpus:g} CPUs busy"


def _on_card(window: Telemetry, highest: int, rules: VoidConfig) -> Iterator[str]:
    card = f"accelerator {window.accelerator}"
    if rules.foreign_processes:
        names = window.foreign_names or ("",) * len(window.foreign_pids)
        for name in names:
            if not any(matches(name, pattern) for pattern in rules.tolerate):
                yield f"another process on {card}" + (f" ({name})" if name else "")
    for reason in window.throttle_reasons:
        if any(matches(_plain(reason), pattern) for pattern in rules.throttle):
            yield f"{card} was throttled ({reason})"
    if window.ecc_uncorrected:
        yield f"{card} had memory errors that ECC could not correct"
    yield from _off_clock(window, highest, rules)


def _plain(reason: str) -> str:
    """A reason in our spelling; nvidia-smi writes "SW Thermal Slowdown"."""
    return reason.lower().replace(" ", "_")


def _off_clock(window: Telemetry, highest: int, rules: VoidConfig) -> Iterator[str]:
    """A clock away from the one it is held at, or well below the highest of the block.

    At its power limit a card chooses the clock by what the launch draws: head may draw more than
    base, and is slower for it.
    """
    clock, band = window.sm_clock_busy_mhz, rules.clock_band_pct
    if clock is None or band is None:
        return
    card, held = f"accelerator {window.accelerator}", window.sm_clock_locked_mhz
    if held is not None and abs(clock - held) > held * band / 100:
        yield f"{card} did not keep the {held} MHz it was held at"
    elif held is None and not _at_its_power_limit(window) and clock < highest * (1 - band / 100):
        yield f"{card} ran more than {band:g} % below the highest clock of its block"


def _at_its_power_limit(window: Telemetry) -> bool:
    return POWER_CAP in map(_plain, window.throttle_reasons)
