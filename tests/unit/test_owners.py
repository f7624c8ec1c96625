"""Whose a process on a card is, by a /proc that a test writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.devices.owners import Owners

if TYPE_CHECKING:
    from pathlib import Path

CONTROLLER, CUDA = 10, "7f00-7f01 r-xp 0 08:01 9 /usr/lib/libcuda.so.1\n"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    def process(pid: int, parent: int, name: str, maps: str = CUDA) -> None:
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0\n")
        (folder / "maps").write_text(maps)

    process(1, 0, "init")
    process(CONTROLLER, 1, "ciwm")
    process(11, CONTROLLER, "guard")
    process(12, 11, "python (1)")
    process(20, 1, "trainer")
    process(21, 1, "cron", maps="")
    process(22, 99, "orphan")  # its parent went while we looked
    return tmp_path


@pytest.mark.parametrize(
    ("pid", "whose", "name"),
    [
        (12, "own", "python (1)"),
        (CONTROLLER, "own", "ciwm"),
        (20, "foreign", "trainer"),
        (21, "hidden", ""),  # the number of another namespace: it has no driver mapped
        (22, "hidden", ""),
        (4321, "hidden", ""),
    ],
)
def test_a_process_is_ours_if_it_descends_from_the_controller(
    proc: Path, pid: int, whose: str, name: str
) -> None:
    assert Owners(CONTROLLER, proc).of(pid) == (whose, name)


def test_a_controller_that_is_the_first_process_of_its_container_owns_its_children(
    proc: Path,
) -> None:
    assert Owners(1, proc).of(12).whose == "own"


def test_only_what_was_hidden_is_looked_up_again(proc: Path) -> None:
    owners = Owners(CONTROLLER, proc)
    owners.of(21), owners.of(20)
    (proc / "21" / "maps").write_text(CUDA)
    (proc / "20" / "stat").unlink()
    assert owners.of(21).whose == "foreign"
    assert owners.of(20).whose == "foreign"
