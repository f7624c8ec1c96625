"""What real repositories hold: files that do not parse, links, odd names, damage; and the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.drift.bed import Bed

RUN = "def run(x): ...\n"
PLUGIN = "from engine.a import run\n"


@pytest.mark.parametrize(
    "content",
    [
        "def broken(:\n",
        b"x = '\xff\xfe'\n",
        b"# -*- coding: no-such -*-\nx = 1\n",
        b"x = 1\0\n",
        "type X[T] = what is this\n",
        "x = " + "(" * 300 + ")" * 300 + "\n",
        "x = " + "-" * 100_000 + "1\n",
    ],
    ids=["syntax", "not UTF-8", "unknown coding", "NUL", "newer syntax", "brackets", "deep"],
)
def test_a_file_that_does_not_parse_is_named_and_the_rest_is_read(
    bed: Bed, content: str | bytes
) -> None:
    bed.release("before", {"a.py": RUN, "bad.py": content})
    bed.use({"plug/code.py": PLUGIN, "plug/bad.py": content})
    bed.release("after", {"a.py": ""})
    report = bed.report()
    assert told(list(report.drift)) == [("removed", "hard", "engine.a.run")]
    spots = {spot.what: spot for spot in report.unseen}
    assert "plug/bad.py" in spots["files of the plugin that could not be read"].examples[0]
    assert (
        "engine/bad.py" in spots["files of upstream at the pin that could not be read"].examples[0]
    )


def test_sources_in_other_encodings_are_read_by_their_cookie(bed: Bed) -> None:
    latin = "# -*- coding: latin-1 -*-\nname = 'caf\xe9'\n".encode("latin-1")
    bed.release("before", {"a.py": latin + RUN.encode()})
    bed.use({"plug/code.py": latin + PLUGIN.encode()})
    bed.release("after", {"a.py": latin})
    assert told(bed.findings()) == [("removed", "hard", "engine.a.run")]


def test_what_was_imported_from_a_file_that_no_longer_parses_is_not_called_removed(
    bed: Bed,
) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": "def broken(:\n"})
    assert bed.findings() == []


def test_links_to_files_are_followed_and_loops_are_named(bed: Bed) -> None:
    bed.release("before", {"real.py": RUN})
    for name, aim in (("a.py", "real.py"), ("one.py", "two.py"), ("two.py", "one.py")):
        (bed.upstream.path / "engine" / name).symlink_to(aim)
    (bed.plugin.path / "round").symlink_to(".")
    bed.release("links", {})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"real.py": ""})
    report = bed.report()
    assert told(list(report.drift)) == [("removed", "hard", "engine.a.run")]
    named = [example for spot in report.unseen for example in spot.examples]
    assert any("engine/one.py: a loop" in example for example in named)


def test_modules_that_import_each_other_come_to_an_end(bed: Bed) -> None:
    bed.release(
        "before",
        {
            "a.py": "from .b import *\nfrom .b import x\n",
            "b.py": "from .a import *\nfrom .a import x\n",
        },
    )
    bed.use({"plug/code.py": "from engine.a import x, y\nclass A(A): ...\n"})
    bed.release("after", {"a.py": "from .b import x\n"})
    assert bed.findings() == []


def test_classes_that_python_would_refuse_still_have_an_order(bed: Bed) -> None:
    source = "class A: ...\nclass B(A):\n    size = 1\nclass C(A, B): ...\nclass D(D): ...\n"
    bed.release("before", {"a.py": source})
    bed.use(
        {"plug/code.py": "from engine.a import C\nclass M(C):\n    def f(self): return self.size\n"}
    )
    bed.release("after", {"a.py": source.replace("size", "width")})
    assert told(bed.findings()) == [("removed", "hard", "engine.a.B.size")]


def test_paths_that_are_no_utf8_do_not_stop_the_report(bed: Bed) -> None:
    bed.release("before", {"a.py": RUN})
    bed.plugin.write(b"plug/\xff.py", b"from engine.a import run\n")
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": ""})
    found = bed.only()
    assert found.use_count == 2
    assert any("\\xff" in use for use in found.uses)


def test_a_missing_blob_is_named_and_the_rest_is_read(bed: Bed) -> None:
    bed.release("before", {"a.py": RUN, "lost.py": "lost = 1\n"})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": ""})
    blob = bed.upstream.git("rev-parse", "HEAD:engine/lost.py")
    (bed.upstream.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    report = bed.report()
    assert told(list(report.drift)) == [("removed", "hard", "engine.a.run")]
    named = [example for spot in report.unseen for example in spot.examples]
    assert any(example.startswith("engine/lost.py: the contents are missing") for example in named)


def test_nothing_of_either_repository_is_touched(bed: Bed) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": ""})
    before = bed.upstream.fingerprint(), bed.plugin.fingerprint()
    assert len(bed.findings()) == 1
    assert (bed.upstream.fingerprint(), bed.plugin.fingerprint()) == before


def test_importing_either_side_would_be_noticed(bed: Bed, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'trapped')!r}, 'w')\n"
    bed.release("before", {"a.py": trap + RUN})
    bed.use({"plug/code.py": trap + PLUGIN})
    bed.release("after", {"a.py": trap})
    assert len(bed.findings()) == 1
    assert not (tmp_path / "trapped").exists()


def test_a_second_report_reads_the_index_from_the_cache_and_says_the_same(
    bed: Bed, tmp_path: Path
) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": ""})
    first = bed.findings()
    kept = sorted((tmp_path / "cache" / "drift").iterdir())
    assert len(kept) == 2
    stamps = [path.stat().st_ino for path in kept]
    assert bed.findings() == first
    assert [
        path.stat().st_ino for path in sorted((tmp_path / "cache" / "drift").iterdir())
    ] == stamps


@pytest.mark.parametrize("damage", [b"", b"not gzip", None])
def test_a_damaged_cache_is_made_anew(bed: Bed, tmp_path: Path, damage: bytes | None) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": ""})
    first = bed.findings()
    for path in (tmp_path / "cache" / "drift").iterdir():
        path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    assert bed.findings() == first


def test_versions_that_are_missing_between_the_pins_blame_nobody_until_they_are_fetched(
    bed: Bed, tmp_path: Path
) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("between", {"a.py": f"{RUN}\nx = 1\n"})
    last = bed.release("Take it away (#9)", {"a.py": ""})
    bed.upstream.git("config", "uploadpack.allowFilter", "true")
    bed.upstream.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = ("clone", "-q", "--filter=blob:none", f"file://{bed.upstream.path}")
    bed.plugin.git(*clone, str(tmp_path / "partial"))
    bed.plugin.git("-C", str(tmp_path / "partial"), "checkout", "-q", "--detach", "HEAD~2")
    bed.plugin.write("ciwm.toml", bed.config.replace("../upstream", "../partial"))
    (finding,) = bed.findings()
    assert finding.commit is None
    assert finding.commit_unknown == "some versions of its file are missing here"
    config = bed.config.replace("../upstream", "../partial")
    bed.plugin.write("ciwm.toml", f"{config}[sync.budget]\nhard_drift = 5\n")
    assert bed.run()[0] == 0, "all of both revisions was read"
    (finding,) = bed.findings("--fetch-missing")
    assert finding.commit is not None
    assert finding.commit.sha == last


def test_sources_that_are_missing_keep_no_budget(bed: Bed, tmp_path: Path) -> None:
    bed.release("before", {"a.py": RUN, "b.py": "x = 1\n"})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"b.py": "x = 2\n"})
    bed.upstream.git("config", "uploadpack.allowFilter", "true")
    clone = ("clone", "-q", "--bare", "--filter=blob:none", f"file://{bed.upstream.path}")
    bed.plugin.git(*clone, str(tmp_path / "partial"))
    config = bed.config.replace("../upstream", "../partial")
    bed.plugin.write("ciwm.toml", f"{config}[sync.budget]\nhard_drift = 5\n")
    code, out, err = bed.run()
    assert code == 1
    assert "the contents of 3 files of upstream are missing here" in " ".join(out.split())
    assert out.startswith("Nothing the plugin uses changed between its pin and main, as far as")
    told = "over: for want of contents, at least 0 hard findings of drift (budget hard_drift: 5)"
    assert told in err.splitlines()
    assert bed.run("--fetch-missing")[0] == 0


def test_without_a_cache_the_report_is_whole_and_says_that_nothing_was_kept(
    bed: Bed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after", {"a.py": ""})
    first = bed.findings()
    (tmp_path / "file").touch()
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    report = bed.report()
    assert list(report.drift) == first
    (note,) = report.notes
    assert note.startswith("nothing could be kept for the next report: cannot make the cache")


def test_a_plugin_with_nothing_changed_says_so_and_exits_with_zero(bed: Bed) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    code, out, err = bed.run()
    assert code == 0, err
    assert out.startswith("Nothing the plugin uses changed between its pin and main.")


def test_the_text_and_the_section_name_what_breaks(bed: Bed) -> None:
    bed.release("before", {"a.py": RUN})
    bed.use({"plug/code.py": PLUGIN})
    bed.release("after (#5)", {"a.py": ""})
    for arguments in ((), ("--markdown",)):
        code, out, err = bed.run(*arguments)
        assert code == 0, err
        for word in ("engine.a.run", "plug/code.py:1", "engine/a.py:1", "removed"):
            assert word in out
