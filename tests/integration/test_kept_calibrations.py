"""Calibrations beside runs in either store: they come back equal and never mix."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from ciwm.errors import StoreError
from ciwm.git import Repository
from ciwm.store import Store, open_store
from tests.records_examples import calibration, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["git:ciwm-data", "dir:kept"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return open_store(request.param, Repository.open(tmp_path))


def test_a_calibration_comes_back_equal_and_is_no_run(store: Store) -> None:
    path = store.add_calibration(calibration())
    store.add(run())
    machine = calibration().environment.fingerprint
    assert path == f"calibrations/2026/09/{machine}/20260914T063000Z-calibration.json"
    assert list(store.calibrations()) == [calibration()]
    assert list(store.runs()) == [run()]


def test_a_run_and_a_calibration_may_share_an_id(store: Store) -> None:
    store.add(run(id="same"))
    store.add_calibration(calibration(id="same"))
    assert [one.id for one in store.runs()] == [one.id for one in store.calibrations()] == ["same"]


def test_another_calibration_of_a_known_id_is_refused(store: Store) -> None:
    store.add_calibration(calibration())
    store.add_calibration(calibration())
    with pytest.raises(StoreError, match="holds another run of this id"):
        store.add_calibration(calibration(alpha=0.05))


def test_a_store_that_is_not_there_holds_no_calibrations(store: Store) -> None:
    assert list(store.calibrations()) == []
