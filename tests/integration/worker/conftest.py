from __future__ import annotations

from pathlib import Path

import pytest

from tests.interpreters import worker_pythons
from tests.worker_bench import Bench


@pytest.fixture(params=worker_pythons(), ids=lambda path: Path(path).parts[-3])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(request.param, tmp_path)
