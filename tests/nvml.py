"""A machine with NVIDIA cards: the real binding over a stand-in for the driver's library."""

from __future__ import annotations

import importlib.util
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.need import missing, need

SOURCE = Path(__file__).parent / "fakes" / "nvml.c"
H200 = {
    "name": "NVIDIA H200",
    "uuid": "GPU-aaaa1111-0000",
    "memory": 150754820096,
    "sm_clock": 1980,
    "memory_clock": 3201,
    "power_limit": 700000,
    "ecc": 1,
    "mig": 0,
}
AT_WORK = {
    "sm_now": 1755,
    "memory_now": 3201,
    "temperature": 61,
    "power": 412500,
    "busy": 97,
    "used": 40 << 30,
    "reasons": 0,
    "corrected": 0,
    "uncorrected": 0,
}
IDLE, POWER_CAP, HW_THERMAL = 0x1, 0x4, 0x40  # clocks event reasons


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stand-in, compiled against NVIDIA's own header."""
    compiler = need("cc")
    spec = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    headers = [path.parent for root in roots for path in root.glob("*/include/nvml.h")]
    if not headers:
        missing("nvml.h is not installed here (PyPI: nvidia-nvml-dev)")
    folder = tmp_path_factory.mktemp("nvml")
    subprocess.run(
        [
            *(compiler, "-Wall", "-Wextra", "-Werror", "-Wno-misleading-indentation"),
            *("-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1"),
            *("-isystem", str(headers[0]), str(SOURCE)),
            *("-o", str(folder / "libnvidia-ml.so.1")),
        ],
        check=True,
    )
    return folder


@dataclass
class Cards:
    """The state of the stand-in's cards, which a test may change while somebody reads it."""

    library: Path
    state: Path
    cards: list[dict[str, Any]]
    other: dict[str, Any] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a process see these cards."""
        return {"LD_LIBRARY_PATH": str(self.library), "FAKE_NVML_STATE": str(self.state)}

    def set(self, card: int = 0, **values: Any) -> None:
        """Change a card; None takes a value away. Readers see the old state or the new one."""
        self.cards[card].update(values)
        lines = [f"count {len(self.cards)}", "driver 590.12"]
        lines += [
            f"{number}.{name.replace('__', '.')} {value}"
            for number, card_ in enumerate(self.cards)
            for name, value in card_.items()
            if value is not None
        ]
        lines += [f"{name} {value}" for name, value in self.other.items()]
        draft = self.state.with_suffix(".new")
        draft.write_text("\n".join(lines) + "\n")
        draft.replace(self.state)


def cards_at_work(library: Path, folder: Path, count: int = 1) -> Cards:
    """That many H200s at work, each with a uuid of its own; what is locked is logged."""
    made = [{**H200, **AT_WORK, "uuid": f"GPU-{number}"} for number in range(count)]
    found = Cards(library, folder / "nvml.state", made, {"log": folder / "nvml.log"})
    found.set()
    return found
