"""The sync report as terminal text, comment section and JSON, byte for byte."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

from ciwm.config_sync import BudgetConfig, HygieneConfig, SyncConfig
from ciwm.policy.sync_gate import judged
from ciwm.records import SyncReport
from ciwm.records.sync import (
    Additive,
    Ahead,
    Behind,
    Carried,
    CarriedCommit,
    ClassCost,
    ConflictedFile,
    Conflicts,
    Culprit,
    Deleted,
    Downstream,
    FirstConflict,
    Hit,
    Hunk,
    Intrusive,
    Overlap,
    Scan,
    Shape,
    Upstream,
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
from ciwm.report.sync_markdown import sync_section
from ciwm.report.sync_text import show_sync
from ciwm.upstream.syncs.forecast import Outlook, forecast
from ciwm.upstream.syncs.past import PastSyncs, Sync
from ciwm.upstream.syncs.summary import summary
from tests.golden.files import assert_golden
from tests.records_examples import pulls

MOMENT = datetime(2026, 3, 2, 8, 30, tzinfo=timezone.utc)
UPSTREAM, DOWNSTREAM, BASE = "a" * 40, "b" * 40, "c" * 40


def report(**changed: object) -> SyncReport:
    """A report with something of everything."""
    values = {
        "generated_at": MOMENT,
        "repository": "vendor/framework",
        "upstream": Upstream(ref="upstream/main", sha=UPSTREAM, committed_at=MOMENT),
        "downstream": Downstream(ref="HEAD", sha=DOWNSTREAM, committed_at=MOMENT),
        "shape": Shape(style="fork", evidence=("shares history with upstream",)),
        "merge_base": BASE,
        "merge_bases": (BASE,),
        "behind": Behind(commits=120, first_parent=98, days=14.25),
        "ahead": Ahead(commits=9),
        "carried": Carried(
            commits=2,
            upstreamed_commits=1,
            files=5,
            binaries=1,
            lines_added=40,
            lines_removed=7,
            additive=Additive(files=2, lines_added=25),
            intrusive=Intrusive(files=2, lines_added=15, lines_removed=3),
            deleted=Deleted(files=1, lines_removed=4),
            classes=(
                ClassCost(name="kernels", files=3, lines_added=33, lines_removed=7),
                ClassCost(name="other", files=2, lines_added=7, lines_removed=0),
            ),
            list=(
                commit("d", "[Kernel] a faster softmax (#12)", 0),
                commit("e", "Pin @vendor's image | build", 3),
            ),
        ),
        "overlap": Overlap(files=2, paths=("csrc/softmax.cu", "setup.py")),
        "conflicts": Conflicts(
            clean=False,
            count=2,
            hunks=1,
            files=(
                ConflictedFile(
                    path="csrc/softmax.cu",
                    kind="content",
                    hunk_count=1,
                    hunks=(
                        Hunk(start_line=7, text="<<<<<<< b\nours\n=======\ntheirs\n>>>>>>> a\n"),
                    ),
                ),
                ConflictedFile(path="setup.py", kind="modify/delete"),
            ),
        ),
    }
    return SyncReport.model_validate({**values, **changed})


def hit(digit: str, author: str, subject: str) -> Hit:
    return Hit(sha=digit * 40, author=author, subject=subject, files=("csrc/softmax.cu",))


def past_sync(number: int) -> PastSync:
    """Every third one is clean; a line a commit, a file for every ten."""
    commits = 7 * number % 90 + 1
    return PastSync(
        merge=f"{number:02x}" * 20,
        merged_at=MOMENT - timedelta(days=3 * number + 2),
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
    told = summary(past, syncs, MOMENT, ["2 more merges are left out"])
    outlook = Outlook(98, 70, conflicts_now=2)
    return report(syncs=syncs, sync_history=told, forecast=forecast(syncs, outlook), **changed)


def commit(digit: str, subject: str, days: int, *state: str) -> CarriedCommit:
    return CarriedCommit.model_validate(
        {
            "sha": digit * 40,
            "author": "A Developer",
            "authored_at": MOMENT - timedelta(days=days),
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
        pin=BASE,
        pin_source=".upstream-commit",
        target=UPSTREAM,
        counts=PatchCounts(applies=2, offset=1, fuzz=1, fails=1, upstream=1),
        failed_hunks=1,
        patches=patches,
    )
    shape = Shape(style="patches", evidence=("6 patches in patches", f"made for {BASE[:12]}"))
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
CASES = {
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


def text_of(case: SyncReport, width: int = 80) -> str:
    page = io.StringIO()
    show_sync(case, Console(file=page, width=width, force_terminal=False, highlight=False))
    return "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines())


@pytest.mark.parametrize("name", CASES)
def test_the_terminal_text_is_as_it_was_read(name: str) -> None:
    assert_golden(f"sync/{name}.txt", text_of(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_the_section_of_the_comment_is_as_it_was_read(name: str) -> None:
    assert_golden(f"sync/{name}.md", sync_section(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_no_line_is_wider_than_eighty_columns(name: str) -> None:
    long = "deep/" * 40 + "name.py"
    file = ConflictedFile(path=long, kind="content", hunk_count=1)
    wide = CASES[name].model_copy(
        update={"conflicts": Conflicts(clean=False, count=1, hunks=1, files=(file,))}
    )
    assert max(len(line) for line in text_of(wide).splitlines()) <= 80
    first_words = [line.split()[0] for line in text_of(wide).splitlines() if line.strip()]
    assert long in "".join(first_words), "a path is folded, never cut"
