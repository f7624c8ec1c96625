"""Runs in a directory: written whole or not at all, and never mistaken for an empty history."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import StoreError
from ciwm.store.directory import DirectoryStore
from tests.records_examples import run

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
ADD = """
import sys
from pathlib import Path
from ciwm.store.directory import DirectoryStore
from tests.records_examples import run
store = DirectoryStore(Path(sys.argv[1]))
for number in range(5):
    store.add(run(id=f"{sys.argv[2]}-{number}"))
    store.add(run(id="shared"))
"""


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "runs-of-ours")


def stored(store: DirectoryStore, path: str) -> Path:
    return store.root / f"{path}.gz"


def test_a_run_comes_back_equal(store: DirectoryStore) -> None:
    store.add(run())
    assert list(store.runs()) == [run()]


def test_a_stored_file_is_gzip_of_the_records_json(store: DirectoryStore) -> None:
    file = stored(store, store.add(run()))
    unzipped = subprocess.run(["gzip", "-dc", file], check=True, capture_output=True).stdout
    assert type(run()).model_validate_json(unzipped) == run()


def test_a_directory_that_is_not_there_holds_no_runs(store: DirectoryStore) -> None:
    assert list(store.runs()) == []


def test_another_run_of_a_known_id_is_refused(store: DirectoryStore) -> None:
    store.add(run())
    store.add(run())
    with pytest.raises(StoreError, match="holds another run of this id"):
        store.add(run(stopped_because="another reason"))


def test_processes_adding_at_once_lose_nothing(store: DirectoryStore) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", ADD, store.root, f"writer{number}"], env=environment
        )
        for number in range(4)
    ]
    assert [child.wait(timeout=120) for child in children] == [0] * 4
    expected = {f"writer{number}-{turn}" for number in range(4) for turn in range(5)} | {"shared"}
    assert {kept.id for kept in store.runs()} == expected
    assert not list(store.root.rglob(".tmp-*"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda _: b"",
        lambda _: b"not gzip",
        lambda data: data[:40] + b"\0\0\0\0" + data[44:],
        lambda _: gzip.compress(b'{"schema_version": 99}'),
        lambda _: gzip.compress(b"\xff"),
    ],
)
def test_a_damaged_file_is_named(store: DirectoryStore, damage: Callable[[bytes], bytes]) -> None:
    store.add(run(id="good"))
    file = stored(store, store.add(run()))
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(StoreError) as raised:
        list(store.runs())
    assert str(file) in raised.value.message


def test_a_gzip_bomb_is_not_unpacked(store: DirectoryStore) -> None:
    file = stored(store, store.add(run()))
    file.write_bytes(gzip.compress(bytes(200_000_000), compresslevel=1))
    with pytest.raises(StoreError, match="unpacks to more than"):
        list(store.runs())


def test_a_strangers_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine\n")
    store = DirectoryStore(tmp_path)
    for attempt in (lambda: store.add(run()), lambda: list(store.runs())):
        with pytest.raises(StoreError, match="was not made by ciwm"):
            attempt()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_foreign_file_in_the_store_is_named(store: DirectoryStore) -> None:
    store.add(run())
    (store.root / "runs" / "notes.txt").write_text("hello\n")
    with pytest.raises(StoreError, match=r"runs/notes\.txt"):
        list(store.runs())


def test_a_store_of_a_newer_ciwm_is_refused(store: DirectoryStore) -> None:
    store.add(run())
    (store.root / "ciwm-store.json").write_text('{"format": "ciwm-store", "version": 2}')
    with pytest.raises(StoreError, match="newer ciwm"):
        list(store.runs())


def test_a_file_in_the_way_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write to .*file"):
        DirectoryStore(tmp_path / "file").add(run())
