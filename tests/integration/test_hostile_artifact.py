"""Artifacts that somebody means ill by: nothing but safe text is posted, each refusal is a line."""

from __future__ import annotations

import io
import json
import re
import stat
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from ciwm.records import Run
from ciwm.records.sync import Culprit
from tests.records_examples import bump, failed_build, partial_sync, pulls, sync, verdict
from tests.runs import RunBuilder, build, series
from tests.safe_markdown import check_safe
from tests.trusted_half import (
    SLOWER,
    TrustedHalf,
    archive,
    claimed,
    measured,
    packed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ciwm.records import RecordFile
    from tests.github_bed.bed import GitHubBed

MIB = 1 << 20
EVIL = (
    "@everyone #1 https://evil.example <img src=x onerror=alert(1)> </details>"
    "<!-- ciwm:bump --> `</code>` | a | b |\n\n# Approved\n\n- [x] ![x](https://evil.example/p.png)"
    "\u202egnp.exe\u2066\u200f\r\n/merge [click](javascript:alert(1)) ```\n~~~ $x$ \x1b[31m"
)
DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def fork(github: GitHubBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustedHalf:
    return TrustedHalf(github, tmp_path, monkeypatch)


def zipped(*members: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    """An archive of members made by hand, beside an honest report."""
    into = io.BytesIO()
    names = {info.filename for info, _ in members}
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made:
        for info, content in members:
            made.writestr(info, content)
        for name, text in packed(run=measured()).items():
            if name not in names:
                made.writestr(name, text)
    return into.getvalue()


def member(name: str, mode: int = 0, content: bytes = b"x") -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info, content


def bomb() -> bytes:
    """A run that is 300 MiB of spaces, in 300 kB."""
    info = zipfile.ZipInfo("run/run.json")
    info.compress_type = zipfile.ZIP_DEFLATED
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("report.json", claimed().to_json())
        with made.open(info, "w") as file:
            for _ in range(300):
                file.write(b" " * MIB)
    return into.getvalue()


def lying_bomb() -> bytes:
    """The same, whose directory says that it unpacks to ten bytes."""
    data = bytearray(bomb())
    directory = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, directory + 24, 10)
    return bytes(data)


def with_name(name: bytes) -> bytes:
    """An archive whose one extra member has a name that Python would not write."""
    plain = zipped(member("n" * len(name)))
    return plain.replace(b"n" * len(name), name)


def encrypted() -> bytes:
    data = bytearray(zipped(member("secret")))
    data[data.find(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def overlong_json(depth: int) -> str:
    return '{"schema_version": 1, "headline": ' + "[" * depth + "]" * depth + "}"


def changed(record: str, **fields: Any) -> str:
    return json.dumps(json.loads(record) | fields)


REPORT, RUN = claimed().to_json(), measured().to_json()
ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "no zip": (lambda: b"hello", "the artifact cannot be unpacked"),
    "cut off": (lambda: archive(packed(run=measured()))[:-40], "cannot be unpacked"),
    "damaged": (
        lambda: archive(packed()).replace(b"x\x9c", b"zz")[:200] + b"\0" * 50,
        "cannot be unpacked",
    ),
    "empty": (lambda: archive({}), "the artifact holds no report.json"),
    "report elsewhere": (lambda: archive({"a/report.json": REPORT}), "holds no report.json"),
    "parent folder": (lambda: zipped(member("../../etc/cron.d/x")), "a path that leads outside"),
    "absolute": (lambda: zipped(member("/etc/passwd")), "a path that leads outside: /etc/passwd"),
    "hidden parent": (lambda: zipped(member("run/../../x")), "a path that leads outside"),
    "backslashes": (lambda: with_name(b"..\\..\\evil"), "a path that leads outside"),
    "drive": (lambda: zipped(member("C:/x")), "a path that leads outside"),
    "NUL in a name": (lambda: with_name(b"report.json\0.txt"), "a path that leads outside"),
    "link": (
        lambda: zipped(member("run/run.json", stat.S_IFLNK | 0o777, b"/proc/self/environ")),
        "a symbolic link: run/run.json",
    ),
    "device": (lambda: zipped(member("null", stat.S_IFCHR | 0o666)), "no plain file: null"),
    "two of one name": (
        lambda: zipped(member("x"), member("y")).replace(b"y", b"x"),
        "two files named x",
    ),
    "many files": (
        lambda: archive({f"f{number}": "" for number in range(5_001)}),
        "more than 5,000 files",
    ),
    "encrypted": (encrypted, "packed in an unusual way: secret"),
    "bomb": (bomb, "run/run.json of the artifact is larger than 32 MiB"),
    "lying bomb": (lying_bomb, "the artifact cannot be unpacked"),
    "unprintable name": (
        lambda: zipped(member("../\u202e\x1b[2J" + "a" * 500)),
        r"outside: ../\u202e\x1b[2Jaaa",
    ),
}
FILES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "not JSON": (lambda: packed("{", measured()), "report.json is not JSON"),
    "a list": (lambda: packed("[]"), "it holds no JSON object"),
    "not UTF-8": (
        lambda: {"report.json": b"\xff\xfe{}"},
        "report.json of the artifact is not UTF-8",
    ),
    "deep": (lambda: packed(overlong_json(100_000)), "nested too deep"),
    "deeper than pydantic": (lambda: packed(overlong_json(900)), "report.json is not"),
    "many parts": (
        lambda: packed('{"schema_version": 1, "stages": [' + "{}," * 500_000 + "{}]}"),
        "more than 500,000 parts",
    ),
    "NaN": (lambda: packed(REPORT, RUN.replace(" 0.01\n", " NaN\n", 1)), "NaN is not allowed"),
    "infinite": (lambda: packed(REPORT, RUN.replace(" 0.01\n", " 1e999\n", 1)), "finite number"),
    "a million texts for numbers": (
        lambda: packed(REPORT, RUN.replace(" 0.01\n", '"a",' * 1_000_000 + '"a"', 1)),
        "values.0: Input should be a valid number\n",
    ),
    "many keys, one of them twice": (
        lambda: packed(
            "{" + "".join(f'"k{number}":1,' for number in range(200_000)) + '"k199999":1}'
        ),
        "the key 'k199999' occurs twice",
    ),
    "huge integer": (
        lambda: packed(REPORT.replace('"exit_code": 0', '"exit_code": ' + "9" * 5_000)),
        "report.json is not",
    ),
    "newer": (
        lambda: packed(changed(REPORT, schema_version=99)),
        "was written by a newer ciwm (schema 99",
    ),
    "unknown field": (lambda: packed(changed(REPORT, secret=1)), "secret: Extra inputs"),
    "a text for a number": (
        lambda: packed(changed(REPORT, exit_code="0")),
        "exit_code: Input should be a valid integer",
    ),
    "twice the same key": (
        lambda: packed(REPORT.replace("{", '{"conclusion": "success",', 1)),
        "the key 'conclusion' occurs twice",
    ),
    "another record": (lambda: packed(sync().to_json()), "is not a valid BumpReport record"),
    "a run of another kind": (lambda: packed(REPORT, REPORT), "is not a valid Run record"),
    "not interleaved": (
        lambda: packed(REPORT, RUN.replace('"order": "seeded"', '"order": "unknown"')),
        "was not measured interleaved",
    ),
    "foreign blocks": (
        lambda: packed(
            REPORT,
            RUN.replace('"launches_per_side_in_block": 2', '"launches_per_side_in_block": 7'),
        ),
        "",  # what the plan says of blocks is not used
    ),
    "too many launches": (
        lambda: packed(REPORT, RunBuilder().blocks(80, 1, 1).run()),
        "more than 256 launches of a workload",
    ),
    "too many series": (
        lambda: packed(
            REPORT, RunBuilder(family=[series(f"s{number}") for number in range(2_001)]).run()
        ),
        "plans more than 2,000 series",
    ),
    "a share of 1e308": (
        lambda: packed(
            claimed(sync=sync(pulls=pulls()))
            .to_json()
            .replace('"value": 0.7125', '"value": 1e308'),
            measured(),
        ),
        "the figures of the artifact cannot be judged",
    ),
    "figures beyond floating point": (
        lambda: packed(
            REPORT, RunBuilder(family=[series("decode/b=1")]).blocks(8, 1e-300, 1e300).run()
        ),
        "",  # shown as what it is
    ),
}


def refused(fork: TrustedHalf, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr that says why; the check fails, the comment says the same."""
    code = fork()
    err = capsys.readouterr().err
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert code == 2, err
    assert len(lines) == 1, err
    assert told in lines[0] + "\n"
    assert len(lines[0]) < 500
    assert "Traceback" not in err
    assert fork.check["conclusion"] == "failure"
    assert "Nothing was compared for this pull request" in fork.comment
    assert "nothing that it reported is shown" in fork.comment
    assert "neutral" not in fork.comment
    check_safe(fork.comment, fork.url)
    check_safe(fork.summary, fork.url)


@pytest.mark.parametrize("attack", ARCHIVES)
def test_an_archive_that_nobody_packs_in_good_faith_is_refused_in_one_line(
    fork: TrustedHalf, github: GitHubBed, attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, told = ARCHIVES[attack]
    github.runs.leave(fork.run_id, make())
    refused(fork, told, capsys)


@pytest.mark.parametrize("attack", [name for name, (_, told) in FILES.items() if told])
def test_a_file_that_is_not_what_we_write_is_refused_in_one_line(
    fork: TrustedHalf, attack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, told = FILES[attack]
    fork.leaves(make())
    refused(fork, told, capsys)


@pytest.mark.parametrize("attack", [name for name, (_, told) in FILES.items() if not told])
def test_a_plan_that_was_tampered_with_is_replaced_by_the_bases(
    fork: TrustedHalf, attack: str
) -> None:
    assert fork.leaves(FILES[attack][0]())() == 0
    assert fork.check["conclusion"] == "neutral"


def test_an_archive_said_to_be_large_is_not_fetched(
    fork: TrustedHalf, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    github.runs.leave(fork.run_id, archive(packed()), size_bytes=33 * MIB)
    assert fork() == 4
    assert "it is larger than 32 MiB" in capsys.readouterr().err
    assert not [one for one in github.exchanges if "/_blobs/" in one.path]


def test_an_archive_that_is_larger_than_was_said_is_not_read_to_its_end(
    fork: TrustedHalf, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    github.runs.leave(fork.run_id, b"\0" * (33 * MIB), size_bytes=10)
    assert fork() == 4
    assert "it is larger than 32 MiB" in capsys.readouterr().err
    assert fork.check["conclusion"] == "failure"


def test_an_artifact_that_has_expired_says_so(
    fork: TrustedHalf, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    github.runs.leave(fork.run_id, archive(packed())).expired = True
    assert fork() == 4
    assert "it has expired" in capsys.readouterr().err


def test_more_artifacts_than_a_matrix_has_are_refused(
    fork: TrustedHalf, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(9):
        fork.leaves(packed(), f"ciwm-{number}")
    refused(fork, "the run left 9 artifacts", capsys)


def test_the_pull_request_and_the_commit_of_the_file_are_not_believed(
    fork: TrustedHalf, github: GitHubBed
) -> None:
    victim = github.pull_request("victim")
    claims = claimed(
        pull_request=victim.number,
        check_sha=victim.head_sha,
        repository="acme/other",
        run_url="https://evil.example/",
    )
    assert fork.leaves(packed(claims, measured()))() == 0
    assert github.comments(victim.number) == []
    assert github.checks(victim.head_sha) == []
    assert fork.check["conclusion"] == "neutral"
    assert "evil.example" not in fork.comment


def test_a_run_at_another_pull_requests_commit_is_not_posted_there(
    fork: TrustedHalf, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = github.pull_request("victim")
    fork.event["workflow_run"]["head_sha"] = victim.head_sha
    assert fork.leaves(packed(run=measured()))() == 0
    assert github.checks(victim.head_sha) == []
    assert "was pushed to since" in capsys.readouterr().err


def test_a_run_of_a_stale_commit_does_not_overwrite_the_newer_result(
    fork: TrustedHalf, github: GitHubBed, capsys: pytest.CaptureFixture[str]
) -> None:
    github.push(fork.pull)
    assert fork.leaves(packed(run=measured()))() == 0
    assert "a newer run reports" in capsys.readouterr().err
    assert github.comments(fork.pull.number) == []


def test_a_branch_of_the_same_name_in_another_fork_is_another_pull_request(
    fork: TrustedHalf, github: GitHubBed
) -> None:
    fork.event["workflow_run"]["head_repository"] = {"full_name": "mallory/engine"}
    assert fork.leaves(packed(run=measured()))() == 0
    assert github.comments(fork.pull.number) == []


def test_a_forged_verdict_is_shown_as_recomputed(fork: TrustedHalf) -> None:
    assert fork.leaves(packed(claimed(), measured(SLOWER)))() == 0
    assert "The report said **pass**; judged again from its samples" in fork.comment
    assert "it is **fail**" in fork.comment
    assert "1 of 1 benchmark" in fork.check["output"]["title"]
    assert fork.check["conclusion"] == "neutral"


@pytest.mark.parametrize(
    "series_changes",
    [{"threshold_pct": 500.0}, {"better": "higher"}, {"unit": "launches"}],
    ids=["loose threshold", "turned round", "another unit"],
)
def test_a_loosened_plan_is_judged_by_the_bases_policy(
    fork: TrustedHalf, github: GitHubBed, series_changes: dict[str, Any]
) -> None:
    loosened = RunBuilder(
        family=[series("decode/b=1", **series_changes)], plan={"max_launches": 4}
    ).blocks(8, 0.01, 0.012)
    github.runs.review(fork.run_id)
    assert fork.leaves(packed(claimed(), loosened.run()))() == 0
    assert fork.check["conclusion"] == "failure"
    assert "regressed" in fork.comment
    assert "+3%" in fork.comment


def test_a_forged_marker_in_a_strangers_comment_stays_a_strangers(
    fork: TrustedHalf, github: GitHubBed
) -> None:
    theirs = github.comment(fork.pull.number, "<!-- ciwm:bump -->\n### ✅ Merge not blocked")
    assert fork.leaves(packed(run=measured()))() == 0
    bodies = {one["id"]: one["body"] for one in github.comments(fork.pull.number)}
    assert bodies[theirs].endswith("Merge not blocked")
    assert len(bodies) == 2


def evil_report(text: str) -> dict[str, Any]:
    """A report and a run in which every text a stranger can choose is this one."""
    names = [series("decode/b=1"), series(text, workload="decode", metric=text[:99])]
    run = RunBuilder(family=names).blocks(8, 0.01, 0.012).run()
    claims = bump(
        verdict=verdict("regressed", "failed"),
        sync_base=partial_sync(),
        builds=(build("base"), failed_build()),
    )
    told = run.model_copy(update={"launches": run.launches[:1]})
    evil = Run.model_validate_json(everywhere(told, text))
    kept = {"launches": run.launches, "plan": run.plan}
    return packed(everywhere(claims, text), evil.model_copy(update=kept))


def everywhere(record: RecordFile, text: str) -> str:
    """A record's JSON with the text wherever the schema takes any text at all."""
    data = json.loads(record.to_json())
    for holder, key in list(_texts(data)):
        before = holder[key]
        holder[key] = "any words"
        try:
            type(record).model_validate_json(json.dumps(data), strict=True)
        except ValidationError:
            holder[key] = before  # a time, or one of a few words
        else:
            holder[key] = text
    return json.dumps(data)


def _texts(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where in nested lists and objects there are texts."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in items:
        if isinstance(part, str):
            yield value, key
        elif isinstance(part, dict | list):
            yield from _texts(part)


def test_words_that_would_ping_link_or_break_out_are_shown_as_words(fork: TrustedHalf) -> None:
    assert fork.leaves(evil_report(EVIL))() == 0
    assert "everyone" in fork.comment
    for text in (fork.comment, fork.summary, fork.check["output"]["summary"]):
        check_safe(text, fork.url)
    title = fork.check["output"]["title"]
    assert "\n" not in title
    assert not DIRECTIONS.search(title)


def test_a_link_to_a_strangers_pull_request_is_no_link(fork: TrustedHalf) -> None:
    lure = Culprit(sha="f" * 40, subject="x", pr=99, url="https://github.com/mallory/evil/pull/99")
    conflicts = sync().conflicts
    assert conflicts is not None
    with_lure = sync(conflicts=conflicts.model_copy(update={"culprits": (lure,)}))
    assert fork.leaves(packed(claimed(sync=with_lure), measured()))() == 0
    assert "mallory" not in fork.comment
    check_safe(fork.comment, fork.url)
    fork.bed.runs.review(fork.run_id)
    assert fork() == 0
    assert "redirect.github.com/mallory/evil/pull/99" in fork.comment  # as a reviewer let it run


def test_texts_of_many_megabytes_are_cut(fork: TrustedHalf) -> None:
    long = ("A" * 50 + "@x<b>\u202e") * 600
    files = evil_report(long)
    assert sum(map(len, files.values())) > 3 * MIB
    assert fork.leaves(files)() == 0
    assert len(fork.comment) <= 65_536
    check_safe(fork.comment, fork.url)


def test_a_text_of_ten_megabytes_is_refused_as_too_large(
    fork: TrustedHalf, capsys: pytest.CaptureFixture[str]
) -> None:
    fork.leaves(packed(changed(REPORT, headline="A" * (10 * MIB)), measured()))
    refused(fork, "report.json of the artifact is larger than 8 MiB", capsys)


@pytest.mark.parametrize("where", ["run", "run/run.json", "extra"])
def test_a_link_in_an_unpacked_artifact_is_refused(
    fork: TrustedHalf, tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, outside = tmp_path / "artifact", tmp_path / "outside"
    (outside / "run").mkdir(parents=True)
    (outside / "run.json").write_text(RUN)
    folder.mkdir()
    (folder / "report.json").write_text(REPORT)
    link = folder / where
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / "run.json" if where.endswith("json") else outside)
    assert fork("--from", str(folder)) == 2
    assert "a symbolic link" in capsys.readouterr().err
    assert fork.check["conclusion"] == "failure"


def test_a_report_that_is_a_link_is_refused(
    fork: TrustedHalf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "real.json").write_text(REPORT)
    (tmp_path / "report.json").symlink_to(tmp_path / "real.json")
    assert fork("--from", str(tmp_path / "report.json")) == 2
    assert "there is no artifact at" in capsys.readouterr().err
