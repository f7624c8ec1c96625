from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.launch.oom import oom_kills

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("membership", "counter", "text"),
    [
        ("0::/ci/job-7\n", "ci/job-7/memory.events", "low 0\noom 3\noom_kill 2\n"),
        ("0::/../elsewhere\n", "memory.events", "oom_kill 2\n"),
        ("4:memory:/docker/x\n0::/\n", "memory/docker/x/memory.oom_control", "oom_kill 2\n"),
        ("4:cpu,memory:/docker/x\n", "memory/memory.oom_control", "under_oom 0\noom_kill 2\n"),
    ],
)
def test_the_count_is_found_in_either_version_of_cgroups(
    tmp_path: Path, membership: str, counter: str, text: str
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(membership)
    file = tmp_path / "cgroup" / counter
    file.parent.mkdir(parents=True)
    file.write_text(text)

    assert oom_kills(tmp_path / "proc", tmp_path / "cgroup") == 2


def test_where_no_file_says_so_it_is_not_known(tmp_path: Path) -> None:
    assert oom_kills(tmp_path, tmp_path) is None
