"""The section of the comment, made of the most hostile record a pull request could hand over."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from html.parser import HTMLParser

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ciwm.records.sync import (
    Ahead,
    Behind,
    Carried,
    CarriedCommit,
    ClassCost,
    ConflictedFile,
    Conflicts,
    Culprit,
    Downstream,
    FirstConflict,
    Hit,
    Hunk,
    Overlap,
    Scan,
    Shape,
    SyncReport,
    Upstream,
)
from ciwm.records.sync_drift import (
    BlindSpot,
    Finding,
    PinLane,
    PluginSurface,
    UpstreamChange,
)
from ciwm.records.sync_history import Forecast, PastSync, SyncHistory
from ciwm.records.sync_pulls import OpenPull, Pulls
from ciwm.records.sync_states import CommitsByState
from ciwm.report.detail import FULL
from ciwm.report.sync_culprits import culprits
from ciwm.report.sync_markdown import LONGEST, sync_section
from tests.records_examples import pulls

MOMENT = datetime(2026, 3, 2, tzinfo=timezone.utc)
PAST_SYNC = PastSync(
    merge="a" * 40,
    merged_at=MOMENT,
    upstream="b" * 40,
    kind="conflict",
    conflicted_files=1,
    hand_files=1,
    hand_lines=2,
    upstream_commits=3,
    lag_days=0.5,
)
SURFACE = PluginSurface(
    **{name: 1 for name, kind in PluginSurface.__annotations__.items() if kind == "int"}
)
GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
WORDS = st.text(
    st.one_of(
        st.sampled_from("`|<>!-[]()#*_~\\&;@:/+=.1 \n\r\tawGH\u202e"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=30,
)


@st.composite
def hostile_pulls(draw: st.DrawFn) -> Pulls:
    title = st.builds(
        OpenPull,
        number=st.integers(1, 9),
        title=WORDS,
        url=WORDS,
        author=WORDS,
        waiting_days=st.none() | st.floats(0, 1e4),
        answered=st.booleans(),
    )
    known = pulls().model_dump()
    words = {"subject": draw(WORDS), "author": draw(WORDS), "url": draw(WORDS)}
    hostile = {
        "incoming": ({**known["incoming"][0], **words},),
        "repository": draw(WORDS),
        "authors": (draw(WORDS), draw(WORDS)),
        "waiting": tuple(draw(st.lists(title, max_size=2))),
        "notes": (draw(WORDS),),
    }
    return Pulls.model_validate({**known, **hostile})


@st.composite
def hostile_findings(draw: st.DrawFn) -> Finding:
    change = UpstreamChange(sha=draw(WORDS), subject=draw(WORDS), pr=7)
    words = ("symbol", "upstream", "use", "detail", "mend", "guard", "commit_unknown")
    return Finding.model_validate(
        {
            "kind": "removed",
            "severity": draw(st.sampled_from(["hard", "soft"])),
            **{field: draw(WORDS) for field in words},
            "use_count": 2,
            "commit": draw(st.sampled_from([None, change])),
            "lanes": (draw(WORDS),),
        }
    )


def lane(words: str) -> PinLane:
    return PinLane(
        name=words,
        source=words,
        ref=words,
        sha=words,
        committed_at=MOMENT,
        commits=None,
        days=1,
        hard=1,
        soft=0,
    )


@st.composite
def hostile_reports(draw: st.DrawFn) -> SyncReport:
    def commit() -> CarriedCommit:
        return CarriedCommit(
            sha=draw(WORDS),
            author=draw(WORDS),
            authored_at=MOMENT,
            subject=draw(WORDS),
            state="dead",
            evidence=draw(WORDS),
        )

    def file() -> ConflictedFile:
        hunks = (Hunk(start_line=1, text=draw(WORDS)),)
        return ConflictedFile(path=draw(WORDS), kind=draw(WORDS), hunk_count=1, hunks=hunks)

    def culprit() -> Culprit:
        hit = Hit(sha=draw(WORDS), author=draw(WORDS), subject=draw(WORDS), files=(draw(WORDS),))
        url = draw(st.sampled_from(("https://github.com/o/n/pull/1)[x](", "javascript:alert(1)")))
        return Culprit(
            sha=draw(WORDS), subject=draw(WORDS), pr=7, files=("a",), url=url, hits=(hit,)
        )

    few = range(draw(st.integers(0, 2)))
    drift = tuple(draw(hostile_findings()) for _ in few)
    plugin = draw(st.booleans())
    return SyncReport(
        generated_at=MOMENT,
        repository=draw(WORDS),
        upstream=Upstream(ref=draw(WORDS), sha=draw(WORDS), committed_at=MOMENT),
        downstream=Downstream(ref=draw(WORDS), sha=draw(WORDS), committed_at=MOMENT),
        shape=Shape(style="fork", evidence=tuple(draw(WORDS) for _ in few)),
        merge_base=draw(WORDS),
        merge_bases=("a", "b"),
        behind=Behind(commits=1, first_parent=1, days=1),
        ahead=Ahead(commits=1),
        carried=Carried(
            commits=1,
            upstreamed_commits=0,
            files=1,
            binaries=0,
            lines_added=1,
            lines_removed=1,
            classes=(ClassCost(name=draw(WORDS), files=1, lines_added=1, lines_removed=1),),
            commits_by_state=CommitsByState(upstreamed=0, likely_upstreamed=0, dead=9, live=1),
            list=tuple(commit() for _ in few),
        ),
        overlap=Overlap(files=1),
        conflicts=Conflicts(
            clean=False,
            count=2,
            hunks=2,
            files=tuple(file() for _ in few),
            first=FirstConflict(sha=draw(WORDS), index=1, clean_up_to=draw(WORDS)),
            culprits=tuple(culprit() for _ in few),
            scan=Scan(tried=1, total=2, sampled=True),
        ),
        syncs=(PAST_SYNC.model_copy(update={"merge": draw(WORDS)}),),
        sync_history=SyncHistory(total=1, replayed=1, notes=(draw(WORDS),)),
        forecast=Forecast(refused=draw(WORDS)),
        partial=draw(st.booleans()),
        missing_objects=tuple(draw(WORDS) for _ in few),
        notes=tuple(draw(WORDS) for _ in few),
        pulls=draw(st.none() | hostile_pulls()),
        surface=SURFACE if plugin else None,
        lanes=tuple(lane(draw(WORDS)) for _ in few),
        drift=drift,
        unseen=tuple(BlindSpot(what=draw(WORDS), count=1, examples=(draw(WORDS),)) for _ in few),
    )


class Page(HTMLParser):
    """Tags in order, and the text outside code, where GitHub would look for names and numbers."""

    def __init__(self, markdown: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.prose = ""
        self.feed(GITHUB.render(markdown))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag if not attrs else f"{tag} with attributes")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.seen.add(f"comment {data}")

    def handle_data(self, data: str) -> None:
        if "code" not in self.open:
            self.prose += data


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(hostile_reports())
def test_hostile_text_forges_nothing(report: SyncReport) -> None:
    section = sync_section(report)
    page = Page(section)
    tables = {"table", "thead", "tbody", "tr", "th with attributes", "td with attributes"}
    assert page.open == []
    assert page.seen <= tables | {
        *("h3", "p", "strong", "code", "details", "summary", "pre", "ul", "li")
    }
    assert not re.search(r"@\w|#\d|://|\bwww\.|\bGH-\d", page.prose, re.IGNORECASE)
    assert "<!--" not in section
    assert section.count("<details>") == len(re.findall("^</details>$", section, re.MULTILINE))


@settings(max_examples=5, deadline=None)
@given(st.sampled_from("|<`_@\x07x"))
def test_the_section_is_bounded_whatever_the_record_holds(sign: str) -> None:
    long = sign * 5000
    commit = CarriedCommit(sha=long, author=long, authored_at=MOMENT, subject=long)
    file = ConflictedFile(
        path=long, kind=long, hunk_count=50, hunks=(Hunk(start_line=1, text=long),) * 50
    )
    report = SyncReport(
        generated_at=MOMENT,
        repository=long,
        upstream=Upstream(ref=long, sha=long, committed_at=MOMENT),
        downstream=Downstream(ref=long, sha=long, committed_at=MOMENT),
        shape=Shape(style="fork", evidence=(long,)),
        merge_base=long,
        merge_bases=(long,) * 50,
        behind=Behind(commits=10**9, first_parent=10**9, days=1e9),
        ahead=Ahead(commits=10**9),
        carried=Carried(
            commits=10**9,
            upstreamed_commits=10**9,
            files=10**9,
            binaries=10**9,
            lines_added=10**9,
            lines_removed=10**9,
            classes=(ClassCost(name=long, files=1, lines_added=1, lines_removed=1),) * 500,
            commits_by_state=CommitsByState(upstreamed=9, likely_upstreamed=9, dead=9, live=9),
            upstreamed=(commit,) * 500,
            list=(commit,) * 500,
        ),
        overlap=Overlap(files=10**9),
        conflicts=Conflicts(clean=False, count=500, hunks=25_000, files=(file,) * 500),
        partial=True,
        missing_objects=(long,) * 500,
        notes=(long,) * 500,
    )
    section = sync_section(report)
    assert len(section.encode()) <= LONGEST
    assert re.search(r"… and [\d,]+ more files", section)
    assert re.search(r"… and [\d,]+ more commits", section)
    assert Page(section).open == []


def test_a_pull_request_is_linked_so_that_github_tells_nobody() -> None:
    page = "github.com/acme/framework/pull/12"
    culprit = Culprit(sha="a" * 40, subject="s", pr=12, files=("f",), url=f"https://{page}")
    conflicts = Conflicts(clean=False, count=1, hunks=0, culprits=(culprit,))
    section = culprits(conflicts, FULL)
    assert f"[12](https://redirect.{page})" in section
    elsewhere = culprit.model_copy(update={"url": "https://github.example.org/acme/x/pull/12"})
    told = culprits(conflicts.model_copy(update={"culprits": (elsewhere,)}), FULL)
    assert "://" not in told
    assert "12" in told
