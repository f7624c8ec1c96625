"""Where the pin is read, several pins, and upstreams that are no clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.drift.bed import CONFIG, Bed

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = {"a.py": "def run(x): ...\n"}, {"a.py": "y = 1\n"}
PLUGIN = {"plug/code.py": "from engine.a import run\n"}
PIN = 'pin = { file = ".upstream-commit" }\n'


def pinned(bed: Bed, pin: str, **files: str) -> str:
    """A plugin whose pin is stated otherwise; the pinned commit, which is also tag v1.2.0."""
    sha = bed.release("before", dict(OLD))
    bed.upstream.git("tag", "-a", "-m", "release", "v1.2.0")
    bed.config = CONFIG.replace(PIN, pin.replace("SHA", sha))
    named = {name.replace("__", "."): text.replace("SHA", sha) for name, text in files.items()}
    bed.use({**PLUGIN, **named})
    bed.release("after", dict(NEW))
    return sha


@pytest.mark.parametrize(
    ("pin", "name", "text"),
    [
        ('pin = { file = "pin.txt" }', "pin__txt", "# made for\nSHA  # main of May\n"),
        ('pin = { file = "pin.txt" }', "pin__txt", "v1.2.0\n"),
        ('pin = { file = "pin.txt" }', "pin__txt", "1.2.0\n"),
        (
            'pin = { file = "pyproject.toml", package = "En_gine" }',
            "pyproject__toml",
            "[project]\ndependencies = [\"en-gine[all] == 1.2.0; python_version > '3'\"]\n",
        ),
        (
            'pin = { file = "pyproject.toml", package = "engine" }',
            "pyproject__toml",
            '[tool.uv.sources]\nengine = { git = "https://git.example.org/e", rev = "SHA" }\n',
        ),
        (
            'pin = { file = "requirements.txt", package = "engine" }',
            "requirements__txt",
            "other==3\nengine @ git+https://git.example.org/e.git@SHA\n",
        ),
        (
            'pin = { file = "uv.lock", package = "engine" }',
            "uv__lock",
            '[[package]]\nname = "engine"\nversion = "1.2.0"\n',
        ),
        (
            "pin = { file = 'ci.yaml', pattern = 'engine_commit: ([0-9a-f]+)' }",
            "ci__yaml",
            "engine_commit: SHA\nagain:\n  engine_commit: SHA\n",
        ),
        ('pin = { revision = "SHA" }', "x__txt", ""),
        ('pin = { revision = "v1.2.0" }', "x__txt", ""),
    ],
)
def test_a_pin_may_be_stated_in_many_ways(bed: Bed, pin: str, name: str, text: str) -> None:
    sha = pinned(bed, pin, **{name: text})
    report = bed.report()
    assert report.merge_base == sha == report.lanes[0].sha
    assert (report.behind.commits, report.lanes[0].commits) == (1, 1)
    assert report.shape.style == "plugin"
    assert [each.symbol for each in report.drift] == ["engine.a.run"]
    assert (report.carried, report.conflicts, report.overlap) == (None, None, None)


@pytest.mark.parametrize(
    ("pin", "text", "said"),
    [
        ('pin = { file = "none.txt" }', "", "has no file none.txt"),
        ('pin = { file = "pin.txt" }', "# nothing\n\n", "holds no commit, tag or version"),
        ('pin = { file = "pin.txt" }', "two words\n", "holds no commit, tag or version"),
        ('pin = { file = "pin.txt" }', "feedc0de\n", "has no feedc0de"),
        ('pin = { file = "pin.txt", package = "engine" }', "engine>=1,<2\n", "no one version"),
        ('pin = { file = "pin.txt", package = "engine" }', "other==1\n", "does not require engine"),
        ("pin = { file = 'pin.txt', pattern = '(\\d+)' }", "1\n2\n", "2 different ways: 1, 2"),
        ("pin = { file = 'pin.txt', pattern = '(x)' }", "1\n", "nothing that matches"),
        ('pin = { submodule = "plug" }', "", "is no submodule"),
    ],
)
def test_a_pin_that_cannot_be_read_is_one_line(bed: Bed, pin: str, text: str, said: str) -> None:
    bed.release("before", dict(OLD))
    bed.config = CONFIG.replace(PIN, f"{pin}\n")
    bed.use({**PLUGIN, "pin.txt": text})
    code, out, err = bed.run()
    assert (code, out) == (2, "")
    lines = [line for line in err.splitlines() if not line.startswith(("sync-report:", "hint:"))]
    assert len(lines) == 1
    assert said in lines[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('pin = { file = "a", submodule = "b" }', "exactly one of"),
        ("pin = { }", "exactly one of"),
        ("pin = { file = 'a', pattern = 'x' }", "exactly one group"),
        ("pin = { file = 'a', pattern = '(' }", "not a regular expression"),
        ('pin = { revision = "a", package = "b" }', "say what to look for in file"),
        ('pin = { fle = "a" }', "did you mean file?"),
        ('pin = { file = "a" }\n[upstream.pins]\nx = { file = "b" }', "not both"),
        ("", "needs a pin"),
    ],
)
def test_a_pin_stated_wrongly_is_said_by_its_key(bed: Bed, text: str, said: str) -> None:
    bed.release("before", dict(OLD))
    bed.config = CONFIG.replace(PIN, f"{text}\n")
    bed.use(PLUGIN)
    code, _, err = bed.run("--json")
    assert code == 2
    assert said in err


def test_the_pin_is_that_of_the_revision_reported_on_not_of_the_work_tree(bed: Bed) -> None:
    first = bed.release("before", dict(OLD))
    bed.use(PLUGIN)
    bed.release("after", dict(NEW))
    bed.plugin.write(".upstream-commit", "not committed, so not read")
    assert bed.report().merge_base == first


def test_two_pins_are_two_lanes_and_what_both_find_is_told_once(bed: Bed) -> None:
    release = bed.release("release", {"a.py": "def run(x): ...\ndef walk(x): ...\n"})
    main = bed.release("drop walk (#7)", {"a.py": "def run(x): ...\n"})
    bed.config = CONFIG.replace(PIN, "") + "[upstream.pins]\n"
    bed.config += f'main = {{ revision = "{main}" }}\nrelease = {{ revision = "{release}" }}\n'
    bed.use({"plug/code.py": "from engine.a import run\nfrom engine.a import walk\n"})
    bed.release("drop run (#8)", dict(NEW))
    report = bed.report()
    found = {each.symbol: each for each in report.drift}
    assert found["engine.a.run"].lanes == ("main", "release")
    assert found["engine.a.walk"].lanes == ("release",)
    assert found["engine.a.walk"].commit is not None
    assert found["engine.a.walk"].commit.pr == 7
    assert [(lane.name, lane.commits, lane.hard) for lane in report.lanes] == [
        ("main", 1, 1),
        ("release", 2, 2),
    ]
    assert report.merge_bases == (main, release)


def test_a_submodule_is_pin_and_clone_in_one(bed: Bed) -> None:
    sha = bed.release("before", dict(OLD))
    bed.plugin.git("submodule", "--quiet", "add", str(bed.upstream.path), "third_party/engine")
    bed.config = '[upstream]\npin = { submodule = "third_party/engine" }\n'
    bed.use(PLUGIN)
    bed.release("after", dict(NEW))
    bed.plugin.git("-C", "third_party/engine", "fetch", "-q")
    report = bed.report()
    assert (report.merge_base, report.upstream.ref) == (sha, "origin/main")
    assert [each.symbol for each in report.drift] == ["engine.a.run"]


def test_the_submodule_that_is_not_checked_out_is_said_with_the_command(bed: Bed) -> None:
    bed.release("before", dict(OLD))
    bed.plugin.git("submodule", "--quiet", "add", str(bed.upstream.path), "third_party/engine")
    bed.config = '[upstream]\npin = { submodule = "third_party/engine" }\n'
    bed.use(PLUGIN)
    bed.plugin.git("submodule", "--quiet", "deinit", "-f", "third_party/engine")
    code, _, err = bed.run()
    assert code == 2
    assert "git submodule update --init third_party/engine" in err


def test_upstream_fetched_into_the_plugin_s_own_clone_needs_no_other(bed: Bed) -> None:
    sha = bed.release("before", dict(OLD))
    bed.config = "[upstream]\n" + PIN
    bed.use(PLUGIN)
    bed.release("after", dict(NEW))
    bed.plugin.git("remote", "add", "upstream", str(bed.upstream.path))
    bed.plugin.git("fetch", "-q", "upstream")
    report = bed.report()
    assert (report.merge_base, report.upstream.ref) == (sha, "upstream/main")
    assert len(report.drift) == 1


def test_unpacked_source_distributions_do_without_any_history(bed: Bed, tmp_path: Path) -> None:
    for version, files in (("1.0", OLD), ("1.1", NEW)):
        folder = tmp_path / f"engine-{version}" / "src" / "engine"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "a.py").write_text(files["a.py"])
        (folder / "loop.py").symlink_to("loop.py")
    bed.config = '[upstream]\nrepository = "../engine-1.1"\npin = { folder = "../engine-1.0" }\n'
    bed.use(PLUGIN, pin="unused")
    report = bed.report()
    [found] = report.drift
    assert (found.upstream, found.commit) == ("src/engine/a.py:1", None)
    assert report.lanes[0].commits is None
    assert any("not known" in note for note in report.notes)
    assert any("loop.py" in spot.examples[0] for spot in report.unseen)


def test_the_target_may_be_named_on_the_command_line(bed: Bed) -> None:
    first = bed.release("before", dict(OLD))
    bed.use(PLUGIN)
    bed.release("after", dict(NEW))
    assert bed.findings(first) == []
    assert len(bed.findings("main")) == 1
    code, _, err = bed.run("no-such-revision")
    assert code == 2
    assert "no such revision: no-such-revision" in err


def test_a_missing_clone_is_said_with_the_command_that_makes_it(bed: Bed) -> None:
    bed.config = CONFIG.replace("../upstream", "../nowhere") + 'url = "https://git.example.org/e"\n'
    bed.use(PLUGIN)
    code, _, err = bed.run()
    assert code == 2
    assert "git clone https://git.example.org/e" in err


def test_a_shallow_clone_of_upstream_cannot_count(bed: Bed, tmp_path: Path) -> None:
    bed.release("before", dict(OLD))
    bed.use(PLUGIN)
    bed.release("after", dict(NEW))
    bed.plugin.git(
        "clone", "-q", "--depth=1", f"file://{bed.upstream.path}", str(tmp_path / "shallow")
    )
    bed.plugin.write("ciwm.toml", CONFIG.replace("../upstream", "../shallow"))
    code, _, err = bed.run()
    assert code == 4
    assert "fetch --unshallow" in err


def test_a_pin_on_a_release_branch_is_compared_and_noted(bed: Bed) -> None:
    bed.release("before", dict(OLD))
    bed.upstream.git("checkout", "-q", "-b", "release")
    pin = bed.release("only there", {"b.py": ""})
    bed.use(PLUGIN, pin=pin)
    bed.upstream.git("checkout", "-q", "main")
    bed.release("after (#9)", dict(NEW))
    report = bed.report()
    assert [each.commit.pr for each in report.drift if each.commit] == [9]
    assert any("1 commits that the target lacks" in note for note in report.notes)


def test_a_package_that_upstream_does_not_have_is_said_with_those_it_has(bed: Bed) -> None:
    bed.release("before", dict(OLD))
    bed.config = CONFIG.replace('"engine"', '"motor"')
    bed.use(PLUGIN)
    code, _, err = bed.run()
    assert code == 2
    assert "no Python package motor" in err
    assert "engine" in err


def pin_moves(bed: Bed, *pins: str) -> None:
    """Commit one pin after the other, as .upstream-commit."""
    for pin in pins:
        bed.plugin.write(".upstream-commit", f"{pin}\n")
        bed.plugin.git("commit", "-q", "-a", "-m", f"pin {pin[:7]}")


def test_a_pin_that_moved_backwards_is_bad_form(bed: Bed) -> None:
    older = bed.release("before", dict(OLD))
    newer = bed.release("later", {"b.py": "x = 1\n"})
    bed.config = f'{CONFIG}[sync.hygiene]\nfail_on = ["pin"]\n'
    bed.use(PLUGIN, pin=older)
    pin_moves(bed, newer)
    assert bed.report().lanes[0].moved_back is None
    pin_moves(bed, older)
    back = bed.plugin.git("rev-parse", "HEAD")
    code, _, err = bed.run()
    assert code == 1
    told = f"over: the pin moved backwards in {back[:12]}: {newer[:12]} to {older[:12]}"
    assert told in err.splitlines()


def test_other_changes_of_the_pins_file_do_not_hide_its_last_move(bed: Bed) -> None:
    older = bed.release("before", dict(OLD))
    newer = bed.release("later", {"b.py": "x = 1\n"})
    bed.config = CONFIG.replace(PIN, "pin = { file = 'pin.txt', pattern = 'engine=([0-9a-f]+)' }\n")
    for pin, rest in ((newer, "a"), (older, "a"), (older, "b"), (older, "c")):
        bed.use({**PLUGIN, "pin.txt": f"engine={pin}\n{rest}\n"})
    back = bed.report().lanes[0].moved_back
    assert back is not None
    assert (back.old, back.new) == (newer, older)
    assert bed.plugin.git("log", "-1", "--format=%H", "HEAD~2") == back.sha


def test_a_lower_release_of_another_branch_is_backwards_and_a_higher_one_is_not(bed: Bed) -> None:
    bed.release("before", dict(OLD))
    for name in ("1.2.1", "1.3.0"):  # each on a branch of its own, so that neither holds the other
        bed.upstream.git("checkout", "-q", "-b", f"release-{name}", "main")
        bed.release(name, {"version.py": f"version = '{name}'\n"})
        bed.upstream.git("tag", f"v{name}")
    bed.upstream.git("checkout", "-q", "main")
    bed.use(PLUGIN, pin="v1.2.1")
    pin_moves(bed, "v1.3.0")
    assert bed.report().lanes[0].moved_back is None
    pin_moves(bed, "v1.2.1")
    assert bed.report().lanes[0].moved_back is not None


def test_a_move_that_cannot_be_followed_is_no_pass(bed: Bed) -> None:
    pin = bed.release("before", dict(OLD))
    bed.config = f'{CONFIG}[sync.hygiene]\nfail_on = ["pin"]\n'
    bed.use(PLUGIN, pin="feedc0de")
    pin_moves(bed, pin)
    code, _, err = bed.run()
    assert code == 1
    (line,) = (line for line in err.splitlines() if line.startswith("over:"))
    assert line.startswith("over: hygiene pin: the last move of the pin is not known: ")
    assert "feedc0de" in line
