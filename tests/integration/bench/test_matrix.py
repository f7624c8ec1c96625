"""A run that is one of a workflow matrix is measured for the family of all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.bench.place import Place, place_of
from ciwm.bench.plan import make_plan
from ciwm.cli import run as ciwm
from ciwm.errors import UsageError
from tests.fork import workload

if TYPE_CHECKING:
    from tests.fork import Fork


def test_the_family_is_that_of_all_shards_and_of_all_workloads(fork: Fork) -> None:
    head = fork.repository.revision("HEAD")
    two = (workload(id="a", params={"n": [1, 2]}), workload(id="b"))
    asked = fork.request(head, head, *two, only=("a",), place=Place("h100", ("h100", "a100")))
    plan, _ = make_plan(asked)
    assert len(plan.family) == 2
    assert plan.family_size == 6  # three series are declared, on two devices
    assert (plan.shard, plan.shard_labels) == ("h100", ("h100", "a100"))
    alone, _ = make_plan(fork.request(head, head, *two, only=("a",)))
    assert alone.family_size == 2


def test_nothing_stated_is_no_matrix() -> None:
    assert place_of(None, None) == place_of("", "") == place_of("", ",") == Place()
    assert place_of("a", "b, a") == Place("a", ("b", "a"))


@pytest.mark.parametrize(
    ("label", "labels", "said"),
    [
        ("a", "b,c", "shard a is none of b, c"),
        ("", "b,c", "shard without a label is none of b, c"),
        ("a", "a,a", "are not distinct"),
        ("a", "a,,b", "'' cannot be the label"),
        ("a/b", "a/b", "'a/b' cannot be the label"),
    ],
)
def test_labels_that_cannot_be_are_one_clear_line(label: str, labels: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        place_of(label, labels)


def test_the_command_line_says_which_shard_it_is(
    fork: Fork, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(fork.path)
    assert ciwm(["bench", "HEAD", "HEAD", "--shard", "a", "--shards", "b"]) == 2
    assert "shard a is none of b" in capsys.readouterr().err
    assert ciwm(["bench", "--calibrate", "--shards", "b"]) == 2
    assert "--shards is for a run that compares" in capsys.readouterr().err
