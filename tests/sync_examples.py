"""Sync reports of every kind of downstream, for whatever renders them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from ciwm.config_sync import BudgetConfig, HygieneConfig, SyncConfig
from ciwm.policy.sync_gate import judged
from ciwm.records.sync import (
    Behind,
    CarriedCommit,
    Conflicts,
    Culprit,
    FirstConflict,
    Hit,
    Overlap,
    Scan,
    Shape,
)
from ciwm.records.sync_drift import (
    BlindSpot,
    Finding,
    PinLane,
    PluginSurface,
    UpstreamChange,
)
from ciwm.records.sync_gate import Marker
from ciwm.records.sync_history import PastSync
from ciwm.records.sync_patches import (
    FailedHunk,
    HunkCulprit,
    PatchClaims,
    PatchCounts,
    PatchQueue,
    QueuedPatch,
)
from ciwm.records.sync_shape import SquashedSync
from ciwm.records.sync_states import CommitsByState
from ciwm.upstream.syncs.forecast import Outlook, forecast
from ciwm.upstream.syncs.past import PastSyncs, Sync
from ciwm.upstream.syncs.summary import summary
from tests import records_examples
from tests.records_examples import MERGE_BASE, UPSTREAM_SHA, WHEN, pulls

if TYPE_CHECKING:
    from ciwm.records import SyncReport


def report(**changed: object) -> SyncReport:
    """A fork with something of everything."""
    return records_examples.sync(**changed)


def hit(digit: str, author: str, subject: str) -> Hit:
    return Hit(sha=digit * 40, author=author, subject=subject, files=("csrc/softmax.cu",))


def past_sync(number: int) -> PastSync:
    """Every third one is clean; a line a commit, a file for every ten."""
    commits = 7 * number % 90 + 1
    return PastSync(
        merge=f"{number:02x}" * 20,
        merged_at=WHEN - timedelta(days=3 * number + 2),
        upstream=f"{number + 100:02x}" * 20,
        kind="conflict" if number % 3 else "clean",
        conflicted_files=commits // 10 + 1 if number % 3 else 0,
        hand_files=1,
        hand_lines=commits if number % 3 else 0,
        upstream_commits=commits,
        lag_days=0.5,
        marker_files=("README.md",) if number == 4 else (),
    )


def with_past(count: int, **changed: object) -> SyncReport:
    """The report with so many past syncs and the forecast from them."""
    syncs = tuple(past_sync(number) for number in range(count))
    dates = {sync.merge: sync.merged_at for sync in syncs}
    past = PastSyncs(tuple(Sync(sync.merge, "", sync.upstream) for sync in syncs), dates)
    told = summary(past, syncs, WHEN, ["2 more merges are left out"])
    outlook = Outlook(98, 70, conflicts_now=2)
    return report(syncs=syncs, sync_history=told, forecast=forecast(syncs, outlook), **changed)


def commit(digit: str, subject: str, days: int, *state: str) -> CarriedCommit:
    return CarriedCommit.model_validate(
        {
            "sha": digit * 40,
            "author": "A Developer",
            "authored_at": WHEN - timedelta(days=days),
            "subject": subject,
            **dict(zip(("state", "evidence"), state, strict=False)),
        }
    )


def lost() -> SyncReport:
    """A squashed sync, and commits in every state."""
    whole = report()
    assert whole.carried is not None
    picked = f"upstream merged PR #12 as {'f' * 12}"
    carried = whole.carried.model_copy(
        update={
            "commits_by_state": CommitsByState(upstreamed=1, likely_upstreamed=1, dead=15, live=1),
            "upstreamed": (
                commit("9", "Fix a race", 9, "upstreamed", f"the same patch as {'7' * 12}"),
            ),
            "list": (
                commit("d", "[Kernel] a faster softmax (#12)", 0, "likely_upstreamed", picked),
                commit(
                    "e", "Pin @vendor's image | build", 3, "live", "still carried: 4 of 9 lines"
                ),
                commit("8", "Try", 4, "dead", "nothing is left of what it changed (3 lines)"),
            ),
        }
    )
    sync = SquashedSync(
        sha="5" * 40,
        subject="Upstream merge (#226)",
        reason="its subject says so",
        files=412,
        upstream_files=355,
        synced_to="6" * 40,
    )
    shape = Shape(
        style="fork",
        evidence=("shares history with upstream", "ancestry lost: 555555555555 has one parent"),
        squashed=(sync,),
    )
    return report(carried=carried, shape=shape)


def queue() -> SyncReport:
    """A patch queue with a patch of every kind."""
    culprit = HunkCulprit(sha="4" * 40, subject="Refactor softmax (#99)")
    hunk = FailedHunk(
        path="csrc/softmax.cu",
        number=2,
        start_line=40,
        reason="csrc/softmax.cu: patch does not apply",
        text="@@ -40,3 +40,3 @@\n a\n-b\n+B\n c\n",
        culprits=(culprit,),
    )
    patches = (
        patch("0001-softmax.patch", "fails", "mend", hunks=3, hunks_failed=1, failed=(hunk,)),
        patch("0002-race.patch", "upstream", "delete", reason="upstream has it as 777777777777"),
        patch("0003-fuzz.patch", "fuzz", "keep", fuzz=2, offset_lines=7),
        patch("0004-far.patch", "offset", "keep", offset_lines=208),
        patch("0005-plain.patch", "applies", "keep"),
        patch(
            "0006-sent.patch",
            "applies",
            "unknown",
            reason="state of PR #12 unknown: needs a token",
            claims=PatchClaims(pulls=(12,)),
        ),
    )
    whole = PatchQueue(
        folder="patches",
        order="the file series",
        pin=MERGE_BASE,
        pin_source=".upstream-commit",
        target=UPSTREAM_SHA,
        counts=PatchCounts(applies=2, offset=1, fuzz=1, fails=1, upstream=1),
        failed_hunks=1,
        patches=patches,
    )
    shape = Shape(style="patches", evidence=("6 patches in patches", f"made for {MERGE_BASE[:12]}"))
    return report(patches=whole, shape=shape)


def patch(name: str, fits: str, advice: str, **fields: object) -> QueuedPatch:
    values = {"name": name, "subject": "s", "fits": fits, "advice": advice, "hunks": 1, **fields}
    return QueuedPatch.model_validate(values)


OVER = judged(
    report(markers=(Marker(path="README.md", line=12, text="<<<<<<< HEAD"),)),
    SyncConfig(
        budget=BudgetConfig(conflicts=1, behind_days=30, hard_drift=0),
        hygiene=HygieneConfig(fail_on=("markers",)),
    ),
)


def finding(kind: str, severity: str, symbol: str, **changed: object) -> Finding:
    """A finding at one use, made by one upstream commit."""
    values = {
        "kind": kind,
        "severity": severity,
        "symbol": symbol,
        "upstream": "engine/config.py:12",
        "use": "plug/worker.py:40",
        "before": "engine/config.py:12",
        "mend": f"stop using {symbol}, or carry a copy of it",
        "commit": UpstreamChange(sha="f" * 40, subject="Config is a module (#25252)", pr=25252),
        "lanes": ("main", "release"),
    }
    return Finding.model_validate({**values, **changed})


def plugin(**changed: object) -> SyncReport:
    """A plugin with two pins, whose upstream broke one thing and changed two."""
    counted = {name for name in PluginSurface.model_fields if name != "upstream_files"}
    surface = dict.fromkeys(counted, 0)
    surface |= {"files": 165, "calls": 1297, "overrides": 653, "subclasses": 116, "symbols": 802}
    lane = PinLane(
        name="main",
        source=".upstream-commit",
        ref=MERGE_BASE,
        sha=MERGE_BASE,
        committed_at=WHEN,
        commits=31,
        days=1.75,
        hard=1,
        soft=2,
    )
    release = lane.model_copy(update={"name": "release", "ref": "v0.10.2", "commits": 120})
    values = {
        "shape": Shape(style="plugin", evidence=("lane main pins upstream at 2c6b",)),
        "carried": None,
        "overlap": None,
        "conflicts": None,
        "surface": PluginSurface(**surface),
        "lanes": (lane, release),
        "drift": (
            finding("removed", "hard", "engine.config.Mode.RAW", use_count=3),
            finding(
                "override signature",
                "soft",
                "engine.worker.Worker.load",
                after="engine/worker.py:9",
                upstream="engine/worker.py:9",
                detail="lacks the optional parameter fast",
                mend="take (self, path, fast=False)",
                lanes=("main",),
            ),
            finding(
                "patched body changed",
                "soft",
                "engine.ops.softmax",
                commit=None,
                commit_unknown="no history",
                guard="behind the version test `version_is('0.10.2')`",
                in_tests=True,
            ),
        ),
        "unseen": (
            BlindSpot(what="getattr with a computed name", count=8, examples=("plug/a.py:3",)),
        ),
    }
    return report(**{**values, **changed})


CASES: dict[str, SyncReport] = {
    "plugin": plugin(),
    "plugin in step": plugin(drift=(), unseen=()),
    "over": OVER,
    "queue": queue(),
    "lost": lost(),
    "pulls": report(pulls=pulls()),
    "culprits": report(
        conflicts=report().conflicts.model_copy(  # type: ignore[union-attr]
            update={
                "first": FirstConflict(sha="f" * 40, index=11, clean_up_to="e" * 40),
                "culprits": (
                    Culprit(
                        sha="f" * 40,
                        subject="Softmax in one pass (#99)",
                        pr=99,
                        files=("csrc/softmax.cu",),
                        url="https://github.com/framework/framework/pull/99",
                        hits=(
                            hit("d", "A Developer", "[Kernel] a faster softmax (#12)"),
                            hit("e", "@nother | one", "Pin @vendor's image | build"),
                            hit("9", "A Developer", "Tune"),
                        ),
                    ),
                    Culprit(sha="1" * 40, subject="Drop setup.py", files=("setup.py",), span=3),
                ),
                "scan": Scan(tried=57, total=98, sampled=True),
            }
        )
    ),
    "conflicts": report(),
    "past syncs": with_past(40),
    "few past syncs": with_past(3, conflicts=Conflicts(clean=True, count=0, hunks=0)),
    "clean": report(conflicts=Conflicts(clean=True, count=0, hunks=0)),
    "merged": report(
        behind=Behind(commits=0, first_parent=0, days=0),
        overlap=Overlap(files=0),
        conflicts=Conflicts(clean=True, count=0, hunks=0),
    ),
    "partial": report(
        partial=True,
        carried=None,
        overlap=None,
        conflicts=None,
        missing_objects=tuple(f"{number:040x}" for number in range(7)),
        notes=("no trial merge: it needs git 2.38 or newer, and this is git 2.30.2",),
    ),
}
