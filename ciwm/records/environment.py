"""Environment: the machine and interpreter a measurement was taken on."""

from __future__ import annotations

import hashlib
import json

from ciwm.records.base import Record, RecordFile


class Accelerator(Record):
    """One card, as its driver describes it; None where the driver does not say.

    `locked_sm_clock_mhz` is what ciwm itself holds its clock at.
    """

    index: int
    vendor: str
    name: str
    uuid: str | None = None
    memory_bytes: int | None = None
    driver: str | None = None
    max_sm_clock_mhz: int | None = None
    max_memory_clock_mhz: int | None = None
    power_limit_w: float | None = None
    ecc: bool | None = None
    mig: bool | None = None
    locked_sm_clock_mhz: int | None = None


class Difference(Record):
    """One thing by which two environments differ; `hard` ones make timings incomparable."""

    what: str
    base: str
    head: str
    hard: bool


class Environment(RecordFile):
    """Machine (hard: part of the fingerprint) and software (attributes of the arm under test).

    `topology` says how each card is connected, and each pair: "0: PCIe 5 x16",
    "0-1: NVLink 4.0 x18 by NVSwitch". `nvlink_mb_s` is the raw speed of the slowest of those links
    at that moment, of which neither makes a difference.
    """

    accelerators: tuple[Accelerator, ...] = ()
    topology: tuple[str, ...] = ()
    nvlink_mb_s: int | None = None
    cpu_model: str
    cpu_count: int
    memory_bytes: int
    architecture: str
    os: str
    kernel: str
    container_image: str | None = None
    interpreter: str | None = None
    torch: str | None = None
    torch_build: str | None = None
    collective_library: str | None = None
    variables: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        """16 hex digits over what must be equal for two timings to be comparable."""
        text = json.dumps(self._hard(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def diff(self, other: Environment) -> tuple[Difference, ...]:
        """What differs from `other` (self is base, other is head), hard differences first."""
        return (
            *_differences(self._hard(), other._hard(), hard=True),
            *_differences(self._soft(), other._soft(), hard=False),
        )

    def _hard(self) -> dict[str, str]:
        cards = {
            f"accelerator {card.index}": f"{card.vendor} {card.name}, {card.memory_bytes} bytes, "
            f"driver {(card.driver or '').split('.')[0]}, {card.power_limit_w} W, "
            f"ECC {card.ecc}, MIG {card.mig}"
            + (f", held at {card.locked_sm_clock_mhz} MHz" if card.locked_sm_clock_mhz else "")
            for card in self.accelerators
        }
        return {
            "CPU": f"{self.cpu_model}, {self.cpu_count} usable",
            "architecture": self.architecture,
            "container image": str(self.container_image),
            **cards,
            **({"topology": "; ".join(self.topology)} if self.topology else {}),
        }

    def _soft(self) -> dict[str, str]:
        named = {
            "OS": self.os,
            "kernel": self.kernel,
            "interpreter": str(self.interpreter),
            "torch": str(self.torch),
            "torch build": str(self.torch_build),
            "collective library": str(self.collective_library),
        }
        return {**named, **{f"${key}": value for key, value in self.variables.items()}}


def _differences(
    base: dict[str, str], head: dict[str, str], *, hard: bool
) -> tuple[Difference, ...]:
    return tuple(
        Difference(what=key, base=base.get(key, "absent"), head=head.get(key, "absent"), hard=hard)
        for key in sorted(base.keys() | head.keys())
        if base.get(key) != head.get(key)
    )


class ShardEnvironment(Record):
    """A machine, and the labels of the shards of a matrix that ran on it."""

    shard: str
    environment: Environment
