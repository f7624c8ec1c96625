"""The trial merge: each kind of conflict git knows, its hunks, and odd contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.sync.git_scene import (
    Ciwm,
    Scene,
    new_repository,
    numbered,
    publish_upstream,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def two_sides(
    path: Path,
    base: Callable[[Scene], None],
    fork: Callable[[Scene], None],
    upstream: Callable[[Scene], None],
) -> Scene:
    """A repository whose two sides made the given edits."""
    scene = new_repository(path)
    base(scene)
    scene.commit("base", kept__txt="kept\n")
    scene.git("branch", "fork")
    for branch, edit in (("main", upstream), ("fork", fork)):
        scene.git("checkout", "-q", branch)
        edit(scene)
        scene.git("add", "-A")
        scene.commit_index(f"edit of {branch}")
    publish_upstream(scene, "main")
    return scene


def kinds(ciwm: Ciwm, scene: Scene) -> dict[str, str]:
    report = ciwm(scene.path, "--json").report
    assert report["conflicts"]["clean"] is False
    return {file["path"]: file["kind"] for file in report["conflicts"]["files"]}


def writing(name: str, content: str | bytes) -> Callable[[Scene], None]:
    return lambda scene: scene.write(name, content)


def moving(old: str, new: str) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        (scene.path / new).parent.mkdir(exist_ok=True)
        scene.git("mv", old, new)

    return edit


def removing(name: str) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        scene.git("rm", "-q", name)

    return edit


def linking(name: str) -> Callable[[Scene], None]:
    def edit(scene: Scene) -> None:
        (scene.path / name).unlink()
        (scene.path / name).symlink_to("kept.txt")

    return edit


def a_folder_instead(scene: Scene) -> None:
    scene.git("rm", "-q", "a")
    scene.write("a/inside", "x\n")


def a_folder(scene: Scene) -> None:
    for number in range(4):
        scene.write(f"old/{number}", numbered(number, 20 + number))


def nothing(scene: Scene) -> None:
    del scene


TEXT = numbered(1, 20)
FORK_TEXT, UPSTREAM_TEXT = numbered(1, 20, l5="fork"), numbered(1, 20, l5="upstream")
KINDS: dict[str, tuple[Any, Any, Any, dict[str, str]]] = {
    "content": (
        writing("a", TEXT),
        writing("a", FORK_TEXT),
        writing("a", UPSTREAM_TEXT),
        {"a": "content"},
    ),
    "added on both sides": (
        nothing,
        writing("a", "fork\n"),
        writing("a", "upstream\n"),
        {"a": "add/add"},
    ),
    "removed upstream": (
        writing("a", TEXT),
        writing("a", FORK_TEXT),
        removing("a"),
        {"a": "modify/delete"},
    ),
    "removed by the fork": (
        writing("a", TEXT),
        removing("a"),
        writing("a", UPSTREAM_TEXT),
        {"a": "modify/delete"},
    ),
    "renamed and removed": (
        writing("a", TEXT),
        removing("a"),
        moving("a", "b"),
        {"b": "rename/delete"},
    ),
    "renamed twice": (
        writing("a", TEXT),
        moving("a", "b"),
        moving("a", "c"),
        {"a": "rename/rename", "b": "rename/rename", "c": "rename/rename"},
    ),
    "binary": (
        writing("a", b"\0base"),
        writing("a", b"\0fork"),
        writing("a", b"\0upstream"),
        {"a": "binary"},
    ),
    "file and folder": (
        writing("a", TEXT),
        writing("a", FORK_TEXT),
        a_folder_instead,
        {"a~downstream": "file/directory"},
    ),
    "file and link": (
        writing("a", TEXT),
        writing("a", FORK_TEXT),
        linking("a"),
        {"a": "distinct types", "a~downstream": "distinct types"},
    ),
    "added to a folder that moved": (
        a_folder,
        writing("old/new", "x\n"),
        moving("old", "moved"),
        {"moved/new": "file location"},
    ),
}


@pytest.mark.parametrize("case", KINDS)
def test_each_kind_of_conflict_has_its_name(tmp_path: Path, ciwm: Ciwm, case: str) -> None:
    base, fork, upstream, expected = KINDS[case]
    assert kinds(ciwm, two_sides(tmp_path / "kinds", base, fork, upstream)) == expected


def test_a_message_says_upstream_and_downstream_instead_of_ids(tmp_path: Path, ciwm: Ciwm) -> None:
    base, fork, upstream, _ = KINDS["removed upstream"]
    scene = two_sides(tmp_path / "kinds", base, fork, upstream)
    message = ciwm(scene.path, "--json").report["conflicts"]["files"][0]["message"]
    assert message.startswith(
        "CONFLICT (modify/delete): a deleted in upstream and modified in downstream."
    )


def test_a_submodule_that_both_sides_moved_conflicts(tmp_path: Path, ciwm: Ciwm) -> None:
    library = new_repository(tmp_path / "library")
    library.commit("one")
    library.git("branch", "start")
    tips = {}
    for branch in ("fork", "main"):
        library.git("checkout", "-q", "-B", branch, "start")
        tips[branch] = library.commit(f"tip of {branch}")

    def adding(scene: Scene) -> None:
        scene.git("submodule", "--quiet", "add", str(library.path), "lib")
        scene.git("-C", "lib", "checkout", "-q", "start")

    def moved(branch: str) -> Callable[[Scene], None]:
        def edit(scene: Scene) -> None:
            scene.git("-C", "lib", "checkout", "-q", tips[branch])

        return edit

    library.git("checkout", "-q", "start")
    scene = two_sides(tmp_path / "super", adding, moved("fork"), moved("main"))
    assert kinds(ciwm, scene) == {"lib": "submodule"}
    carried = ciwm(scene.path, "--json").report["carried"]
    assert (carried["files"], carried["lines_added"], carried["lines_removed"]) == (1, 1, 1)


def test_windows_line_ends_keep_their_regions(tmp_path: Path, ciwm: Ciwm) -> None:
    windows = [text.replace("\n", "\r\n") for text in (TEXT, FORK_TEXT, UPSTREAM_TEXT)]
    scene = two_sides(tmp_path / "crlf", *(writing("a", text) for text in windows))
    (file,) = ciwm(scene.path, "--json").report["conflicts"]["files"]
    assert file["hunk_count"] == 1
    assert file["hunks"][0]["start_line"] == 5


def test_markers_that_belong_to_a_file_are_not_counted(tmp_path: Path, ciwm: Ciwm) -> None:
    example = "<<<<<<< HEAD\nan example\n=======\nof a conflict\n>>>>>>> other\n"
    scene = two_sides(
        tmp_path / "markers",
        writing("a", example + TEXT),
        writing("a", example + FORK_TEXT),
        writing("a", example + UPSTREAM_TEXT),
    )
    report = ciwm(scene.path, "--json").report
    assert report["conflicts"]["hunks"] == 1
    assert report["conflicts"]["files"][0]["hunks"][0]["start_line"] == 10


def test_a_marker_size_from_attributes_is_understood(tmp_path: Path, ciwm: Ciwm) -> None:
    def base(scene: Scene) -> None:
        scene.write(".gitattributes", "a conflict-marker-size=12\n")
        scene.write("a", TEXT)

    scene = two_sides(tmp_path / "size", base, writing("a", FORK_TEXT), writing("a", UPSTREAM_TEXT))
    hunk = ciwm(scene.path, "--json").report["conflicts"]["files"][0]["hunks"][0]
    assert hunk["text"].startswith("<<<<<<<<<<<< ")


def test_the_text_of_a_huge_hunk_is_bounded_and_the_report_says_so(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    rewritten = ["".join(f"{side} {number}\n" for number in range(5000)) for side in ("f", "u")]
    scene = two_sides(tmp_path / "huge", writing("a", TEXT), *(writing("a", t) for t in rewritten))
    run = ciwm(scene.path, "--json")
    (hunk,) = run.report["conflicts"]["files"][0]["hunks"]
    # one region: 5000 lines of each side and the three markers
    shown = [line for line in hunk["text"].splitlines() if "left out" not in line]
    assert f"[... {10_003 - len(shown)} lines left out ...]" in hunk["text"]
    assert len(run.out) < 20_000
    assert run.report["notes"] == ["1 conflict hunks are shortened to 4000 bytes"]


def test_a_merge_driver_is_named_and_never_run(tmp_path: Path, ciwm: Ciwm) -> None:
    def base(scene: Scene) -> None:
        scene.write(".gitattributes", "a merge=ours-wins\nb merge=nowhere\n")
        scene.write("a", TEXT)
        scene.write("b", TEXT)

    def both(text: str) -> Callable[[Scene], None]:
        def edit(scene: Scene) -> None:
            scene.write("a", text)
            scene.write("b", text)

        return edit

    scene = two_sides(tmp_path / "driver", base, both(FORK_TEXT), both(UPSTREAM_TEXT))
    before = ciwm(scene.path, "--json").report["conflicts"]["files"]
    scene.git("config", "merge.ours-wins.name", "keep ours")
    scene.git("config", "merge.ours-wins.driver", f"touch {tmp_path / 'ran'}; true")
    report = ciwm(scene.path, "--json", "--culprits", "60").report
    assert not (tmp_path / "ran").exists()
    assert report["conflicts"]["files"] == before  # as text, like b
    assert [file["path"] for file in before] == ["a", "b"]
    assert [culprit["files"] for culprit in report["conflicts"]["culprits"]] == [["a", "b"]]
    assert report["notes"] == [
        "b asks for the merge driver nowhere; a report runs none: merged as text",
        "a asks for the merge driver ours-wins; a report runs none: merged as text",
    ]


def test_a_file_that_is_no_text_conflicts_where_a_driver_would_merge_it(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    def base(scene: Scene) -> None:
        scene.write(".gitattributes", "a merge=anything\n")
        scene.write("a", b"\0base")

    scene = two_sides(tmp_path / "r", base, writing("a", b"\0ours"), writing("a", b"\0theirs"))
    scene.git("config", "merge.anything.driver", "true")
    (file,) = ciwm(scene.path, "--json").report["conflicts"]["files"]
    assert (file["path"], file["kind"], file["hunk_count"]) == ("a", "binary", 0)


def test_a_merge_that_git_refuses_costs_only_the_trial_merge(fork: Scene, ciwm: Ciwm) -> None:
    fork.git("config", "merge.renameLimit", "many")
    run = ciwm(fork.path)
    assert run.code == 4
    assert "Merging upstream/main into HEAD could not be tried" in run.out
    assert "no trial merge: git merge-tree failed" in run.out
    assert "bad numeric config value 'many'" in run.out.replace("\n", " ")
    assert "3 files, +4 -2 lines" in run.out


def test_a_crossed_history_reports_all_merge_bases_and_uses_gits(
    tmp_path: Path, ciwm: Ciwm
) -> None:
    scene = new_repository(tmp_path / "crossed")
    scene.commit("base", a__txt=TEXT)
    scene.git("branch", "fork")
    one = scene.commit("one", b__txt="b\n")
    scene.git("checkout", "-q", "fork")
    two = scene.commit("two", c__txt="c\n")
    for branch, other in (("fork", one), ("main", two)):
        scene.git("checkout", "-q", branch)
        scene.clock += 3600
        scene.git("merge", "-q", "--no-edit", other)
        scene.commit(f"after on {branch}", a__txt=numbered(1, 20, l9=branch))
    publish_upstream(scene, "main")
    scene.git("checkout", "-q", "fork")
    report = ciwm(scene.path, "--json").report
    assert set(report["merge_bases"]) == {one, two}
    assert report["merge_base"] == scene.git("merge-base", "upstream/main", "HEAD")
    assert report["conflicts"]["count"] == 1
    numstat = scene.git("diff", "--no-renames", "--numstat", "upstream/main...HEAD").splitlines()
    assert report["carried"]["files"] == len(numstat)
    assert report["notes"][0].startswith("there are 2 merge bases")
