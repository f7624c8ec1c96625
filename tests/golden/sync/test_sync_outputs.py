"""The sync report as terminal text, comment section and JSON, byte for byte."""

from __future__ import annotations

import io
from datetime import datetime, timedelta, timezone

import pytest
from rich.console import Console

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
from ciwm.records.sync_history import PastSync
from ciwm.report.sync_markdown import sync_section
from ciwm.report.sync_text import show_sync
from ciwm.upstream.syncs.forecast import Outlook, forecast
from ciwm.upstream.syncs.past import PastSyncs, Sync
from ciwm.upstream.syncs.summary import summary
from tests.golden.files import assert_golden

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


def commit(digit: str, subject: str, days: int) -> CarriedCommit:
    return CarriedCommit(
        sha=digit * 40,
        author="A Developer",
        authored_at=MOMENT - timedelta(days=days),
        subject=subject,
    )


CASES = {
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
