"""From an event to the bump that is told: whose policy, which upstream, what is kept."""

from __future__ import annotations

import subprocess
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.actions import Event, PullRequest
from ciwm.errors import OK, ConfigError, GitError, UsageError
from ciwm.git import Repository
from ciwm.report.bump_markdown import comment_markdown
from ciwm.story.job import Asked, Job, bump_of
from ciwm.story.story import Story
from ciwm.story.sync_cost import sync_cost
from ciwm.story.telling import tell

if TYPE_CHECKING:
    from pathlib import Path

WORKLOAD = '[[workload]]\nid = "w"\npython = "w.py:step"\n'


def git(path: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    done = subprocess.run(command, cwd=path, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(path: Path, config: str) -> str:
    (path / "ciwm.toml").write_text(config)
    git(path, "add", "--all")
    git(path, "commit", "-q", "--allow-empty", "-m", "change")
    return git(path, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    path = tmp_path / "checkout"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    return path


def job(checkout: Path, event: Event | None = None, **asked: Any) -> Job:
    given: dict[str, Any] = {
        "base": None,
        "head": None,
        "upstream": None,
        "config": None,
        "fetch": False,
        "directory": checkout.parent / "out",
        "seed": 1,
        "policy": {},
    }
    stated = Asked(**{**given, **asked})
    return Job(Repository.open(checkout), event, stated, None, lambda _line: None)


def pull_request_event(head_sha: str) -> Event:
    pull = PullRequest(3, head_sha, "0" * 40, "main", from_fork=False)
    return Event("pull_request", "opened", "acme/fork", "main", None, pull, None, None, None)


def push_event(before: str, after: str, ref: str) -> Event:
    return Event("push", None, "acme/fork", "main", ref, None, before, after, None)


def test_a_forks_code_is_not_run_where_it_would_have_our_secrets(checkout: Path) -> None:
    base = commit(checkout, WORKLOAD)
    git(checkout, "switch", "-q", "-c", "pull")
    head = commit(checkout, WORKLOAD)
    told = pull_request_event(head)
    assert told.pull_request is not None
    theirs = replace(told.pull_request, from_fork=True)
    unsafe = replace(told, name="pull_request_target", pull_request=theirs)
    for asked in ({}, {"base": base, "head": head}, {"only": "bench"}):
        with pytest.raises(UsageError, match="a fork's code is not run for pull_request_target"):
            bump_of(job(checkout, unsafe, **asked))
    assert bump_of(job(checkout, unsafe, only="sync")).head.sha == head
    ours = replace(unsafe, pull_request=told.pull_request)
    assert bump_of(job(checkout, ours)).head.sha == head


def test_a_pull_request_is_judged_by_the_policy_of_its_base(checkout: Path) -> None:
    commit(checkout, f'[gate]\nthreshold = "2%"\nmax_launches = 12\n{WORKLOAD}')
    git(checkout, "switch", "-q", "-c", "pull")
    loosened = f'[gate]\nthreshold = "90%"\nmax_launches = 4\nblock_on = []\n{WORKLOAD}'
    head = commit(checkout, loosened)
    bump = bump_of(job(checkout, pull_request_event(head)))
    assert bump.base_config.gate.threshold_pct == 2
    assert bump.config.gate == bump.base_config.gate
    assert bump.config.gate.max_launches == 12


def test_a_pull_request_may_not_loosen_or_turn_round_a_metric_the_base_has(checkout: Path) -> None:
    metric = 'metrics.step_time = { unit = "s", better = "%s", threshold = "%d%%" }\n'
    commit(checkout, WORKLOAD + metric % ("lower", 3))
    git(checkout, "switch", "-q", "-c", "pull")
    new = WORKLOAD.replace('"w"', '"new"')
    head = commit(checkout, WORKLOAD + metric % ("higher", 80) + new + metric % ("lower", 7))
    known, added = bump_of(job(checkout, pull_request_event(head))).config.workload
    assert known.metrics["step_time"].better == "lower"
    assert known.metrics["step_time"].threshold_pct == 3
    assert added.metrics["step_time"].threshold_pct == 7


def test_a_metric_the_base_declares_by_default_cannot_be_loosened_either(checkout: Path) -> None:
    commit(checkout, WORKLOAD)
    git(checkout, "switch", "-q", "-c", "pull")
    metric = 'metrics.step_time = { unit = "s", better = "lower", threshold = "80%" }\n'
    head = commit(checkout, WORKLOAD + metric)
    (workload,) = bump_of(job(checkout, pull_request_event(head))).config.workload
    assert workload.metrics["step_time"].threshold_pct is None


def test_a_base_without_configuration_takes_the_heads_and_says_so(checkout: Path) -> None:
    git(checkout, "commit", "-q", "--allow-empty", "-m", "before ciwm")
    git(checkout, "switch", "-q", "-c", "pull")
    head = commit(checkout, "[gate]\nmax_launches = 8\n")
    lines: list[str] = []
    asked = job(checkout, pull_request_event(head))
    bump = bump_of(Job(asked.repository, asked.event, asked.asked, None, lines.append))
    assert bump.base_config.gate.max_launches == 8
    assert any("no configuration" in line for line in lines)


def test_without_any_configuration_nobody_speaks_of_a_policy_of_the_head(checkout: Path) -> None:
    git(checkout, "commit", "-q", "--allow-empty", "-m", "before ciwm")
    lines: list[str] = []
    asked = job(checkout, base="HEAD", head="HEAD")
    bump_of(Job(asked.repository, asked.event, asked.asked, None, lines.append))
    assert any("there is no ciwm.toml" in line for line in lines)
    assert not any("the head's" in line for line in lines)


def test_what_the_command_line_asks_for_wins_over_the_policy(checkout: Path) -> None:
    base = commit(checkout, '[gate]\non_inconclusive = "warn"\n')
    asked = job(checkout, base=base, head=base, policy={"on_inconclusive": "fail"})
    assert bump_of(asked).base_config.gate.on_inconclusive == "fail"


def test_only_a_push_to_a_branch_is_kept(checkout: Path) -> None:
    before, after = commit(checkout, ""), commit(checkout, "\n")
    assert bump_of(job(checkout, push_event(before, after, "refs/heads/main"))).keep is not None
    assert bump_of(job(checkout, push_event(before, after, "refs/tags/v1"))).keep is None
    assert bump_of(job(checkout, pull_request_event(after))).keep is None
    assert bump_of(job(checkout, base=before, head=after)).keep is None


def test_without_an_event_both_sides_are_named(checkout: Path) -> None:
    commit(checkout, "")
    with pytest.raises(UsageError, match="implies no base and head") as raised:
        bump_of(job(checkout))
    assert "--base REV --head REV" in raised.value.hint


def test_a_configuration_that_is_wrong_names_the_revision_it_is_in(checkout: Path) -> None:
    good = commit(checkout, "")
    bad = commit(checkout, "[gate]\nthresold = 3\n")
    with pytest.raises(ConfigError, match=f"{bad[:12]}:ciwm.toml: unknown key gate.thresold"):
        bump_of(job(checkout, base=good, head=bad))


def test_a_base_that_cannot_be_read_is_warned_of_so_that_its_mend_can_pass(checkout: Path) -> None:
    bad = commit(checkout, "[gate]\nthresold = 3\n")
    good = commit(checkout, "[gate]\nmax_launches = 8\n")
    bump = bump_of(job(checkout, base=bad, head=good))
    assert bump.base_config.gate.max_launches == 8
    (warning,) = bump.warnings
    assert warning.startswith(f"base's {bad[:12]}:ciwm.toml: unknown key gate.thresold")
    report = tell(Story(bump, threading.Event(), lambda _: None))
    assert (report.exit_code, report.conclusion) == (OK, "neutral")
    assert warning in comment_markdown(report).replace("`", "")


def test_upstream_is_the_configured_remotes_branch_unless_it_was_fetched(checkout: Path) -> None:
    config = '[upstream]\nremote = "up"\nbranch = "dev"\n'
    sha = commit(checkout, config)
    assert bump_of(job(checkout, base=sha, head=sha)).upstream == "up/dev"
    git(checkout, "update-ref", "refs/ciwm/upstream", sha)
    bump = bump_of(job(checkout, base=sha, head=sha))
    assert (bump.upstream, bump.upstream_name) == ("refs/ciwm/upstream", "up/dev")
    assert bump_of(job(checkout, base=sha, head=sha, upstream="v2")).upstream == "v2"


def partial_clone(checkout: Path) -> Path:
    """A clone with the head checked out and without the files that only the base has."""
    git(checkout, "config", "uploadpack.allowFilter", "true")
    git(checkout, "config", "uploadpack.allowAnySHA1InWant", "true")
    clone = checkout.parent / "clone"
    url = checkout.as_uri()
    git(checkout.parent, "clone", "-q", "--filter=blob:none", "--branch=pull", url, str(clone))
    return clone


def test_in_a_partial_clone_the_policy_is_fetched_from_the_base(checkout: Path) -> None:
    commit(checkout, f'[gate]\nthreshold = "2%"\n{WORKLOAD}')
    git(checkout, "switch", "-q", "-c", "pull")
    head = commit(checkout, f'[gate]\nthreshold = "90%"\n{WORKLOAD}')
    bump = bump_of(job(partial_clone(checkout), pull_request_event(head), fetch=True))
    assert bump.base_config.gate.threshold_pct == 2


@pytest.mark.parametrize("fetch", [True, False])
def test_contents_that_a_partial_clone_left_out_are_fetched_for_the_sync_cost(
    checkout: Path,
    fetch: bool,  # noqa: FBT001  a case
) -> None:
    config = '[upstream]\nremote = "origin"\nbranch = "theirs"\n'
    for branch in ("main", "theirs", "pull"):
        git(checkout, "switch", "-q", *(("-c", branch) if branch == "pull" else ("-C", branch)))
        if branch == "pull":
            git(checkout, "reset", "-q", "--hard", "theirs~1")
        (checkout / "file").write_text(f"{branch}\n")
        head = commit(checkout, config)
    clone = partial_clone(checkout)
    bump = bump_of(job(clone, base=f"{head}~1", head=head, fetch=fetch))
    assert bump.upstream is not None
    report = sync_cost(bump, bump.upstream, bump.head)
    assert report.partial is not fetch
    if fetch:
        assert report.conflicts is not None
        assert [each.path for each in report.conflicts.files] == ["file"]


@pytest.mark.parametrize("name", ["ciwm.toml", "ciwm-waivers.toml"])
def test_a_policy_that_cannot_be_fetched_is_an_error_and_never_the_heads(
    checkout: Path, name: str
) -> None:
    commit(checkout, "")
    (checkout / name).write_text("# the base's\n")
    git(checkout, "add", "--all")
    git(checkout, "commit", "-q", "-m", "policy")
    git(checkout, "switch", "-q", "-c", "pull")
    (checkout / name).write_text("")
    git(checkout, "commit", "-q", "-a", "-m", "emptied")
    clone = partial_clone(checkout)
    checkout.rename(checkout.with_name("moved"))
    event = pull_request_event(git(clone, "rev-parse", "HEAD"))
    with pytest.raises(GitError, match=f"has a {name}, and its content is not in this clone"):
        bump_of(job(clone, event, fetch=True))


@pytest.mark.parametrize("by", ["path", "link"])
def test_a_named_file_of_the_repository_is_read_from_each_side(checkout: Path, by: str) -> None:
    (checkout / "ci").mkdir()
    shas = []
    for threshold in (2, 90):
        (checkout / "ci/perf.toml").write_text(f'[gate]\nthreshold = "{threshold}%"\n{WORKLOAD}')
        shas.append(commit(checkout, "[gate]\nmax_launches = 4\n"))
    named = checkout / "ci/perf.toml"
    if by == "link":
        named = checkout.parent / "link.toml"
        named.symlink_to(checkout / "ci/perf.toml")
    bump = bump_of(job(checkout, base=shas[0], head=shas[1], config=named))
    assert (bump.base_config.gate.threshold_pct, bump.config.gate.threshold_pct) == (2, 2)
    assert bump.config.gate.max_launches != 4


def test_a_named_file_that_the_base_lacks_gives_the_heads_policy_and_it_is_said(
    checkout: Path,
) -> None:
    base = commit(checkout, "")
    (checkout / "perf.toml").write_text('[gate]\nthreshold = "7%"\n')
    head = commit(checkout, "")
    lines: list[str] = []
    asked = job(checkout, base=base, head=head, config=checkout / "perf.toml")
    bump = bump_of(Job(asked.repository, asked.event, asked.asked, None, lines.append))
    assert bump.base_config.gate.threshold_pct == 7
    assert any("the base has no configuration" in line for line in lines)


def test_a_named_file_that_no_commit_has_is_refused(checkout: Path) -> None:
    sha = commit(checkout, "")
    (checkout / "made-by-a-step.toml").write_text("[gate]\n")
    named = checkout / "made-by-a-step.toml"
    with pytest.raises(ConfigError, match="neither head nor base has a configuration in made-by"):
        bump_of(job(checkout, base=sha, head=sha, config=named))


def test_a_named_file_outside_the_repository_is_taken_as_it_is(checkout: Path) -> None:
    sha = commit(checkout, "")
    named = checkout.parent / "elsewhere.toml"
    named.write_text('[gate]\nthreshold = "3%"\n')
    bump = bump_of(job(checkout, base=sha, head=sha, config=named))
    assert bump.base_config.gate.threshold_pct == bump.config.gate.threshold_pct == 3


WAIVER = """\
[[waiver]]
series = "w"
ceiling = "8%"
reason = "r"
author = "a"
issue = "#1"
expires = 2999-12-31
"""


@pytest.mark.parametrize("fetch", [True, False])
def test_a_waiver_merged_since_counts_for_a_job_that_is_run_again(
    checkout: Path, *, fetch: bool
) -> None:
    base = commit(checkout, WORKLOAD)
    origin = checkout.parent / "origin.git"
    git(checkout.parent, "clone", "-q", "--bare", str(checkout), str(origin))
    git(checkout, "remote", "add", "origin", str(origin))
    git(checkout, "switch", "-q", "-c", "pull")
    head = commit(checkout, WORKLOAD)
    git(checkout, "switch", "-q", "main")
    (checkout / "ciwm-waivers.toml").write_text(WAIVER)
    commit(checkout, WORKLOAD)
    git(checkout, "push", "-q", "origin", "main")
    git(checkout, "reset", "-q", "--hard", base)  # the job's own checkout is older
    git(checkout, "switch", "-q", "pull")
    bump = bump_of(job(checkout, pull_request_event(head), fetch=fetch))
    assert bump.base.sha == base
    assert [one.series for one in bump.waivers] == (["w"] if fetch else [])


def test_a_pull_request_cannot_waive_its_own_regression(checkout: Path) -> None:
    commit(checkout, WORKLOAD)
    git(checkout, "switch", "-q", "-c", "pull")
    (checkout / "ciwm-waivers.toml").write_text(WAIVER)
    head = commit(checkout, WORKLOAD)
    assert bump_of(job(checkout, pull_request_event(head))).waivers == ()
