"""The package stage of `ciwm ci`: an image of each side, tried, and whose fault it is without."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ciwm.config import Config
from ciwm.errors import NO, OK
from ciwm.story.bump import Bump
from ciwm.story.story import Story
from ciwm.story.telling import tell
from tests.fork import new_fork
from tests.need import need

if TYPE_CHECKING:
    from ciwm.records import BumpReport

# in place of an image builder: a file of the image's name; a head may break either
MAKE = "sh image.sh make"
SMOKE = "sh image.sh smoke"
WORKING = 'echo "$1 $CIWM_IMAGE" >> "$PLACE/done"\n'


def told(
    tmp_path: Path,
    base: str | None,
    head: str | None,
    scripts: tuple[str, str] = (WORKING, WORKING),
) -> BumpReport:
    """The story of two sides, each with a `[package] command` and a script that it runs."""
    fork = new_fork(tmp_path)

    def config(command: str | None) -> Config:
        package = {} if command is None else {"command": command, "smoke": SMOKE}
        build = {"env": {"PLACE": str(tmp_path)}}
        return Config.model_validate({"package": package, "build": build})

    bump = Bump(
        repository=fork.repository,
        base=fork.commit({"image.sh": scripts[0]}),
        head=fork.commit({"image.sh": f"# head\n{scripts[1]}"}, branch="head"),
        config=config(head),
        base_config=config(base),
        upstream=None,
        upstream_name="",
        directory=tmp_path / "story",
        seed=1,
        name="fork",
    )
    return tell(Story(bump, threading.Event(), lambda _: None))


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIWM_CACHE_DIR", str(tmp_path / "cache"))


def test_an_image_is_made_of_each_side_and_tried(tmp_path: Path) -> None:
    report = told(tmp_path, MAKE, MAKE)
    assert [(one.side, one.status, one.exit_code) for one in report.packages] == [
        ("base", "packaged", 0),
        ("head", "packaged", 0),
    ]
    images = [one.image for one in report.packages]
    assert len(set(images)) == 2
    done = (tmp_path / "done").read_text().splitlines()
    assert done == [f"{what} {image}" for image in images for what in ("make", "smoke")]
    assert {one.name: one.status for one in report.stages}["package"] == "done"
    assert report.exit_code == OK


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo no such base image >&2; exit 9", "failed", "no such base image"),
        ('[ "$1" = make ] || { echo error: libcuda.so.1 missing; exit 3; }', "smoke failed", "lib"),
    ],
)
def test_a_head_without_a_working_image_fails_and_base_is_said_to_have_one(
    tmp_path: Path, script: str, status: str, words: str
) -> None:
    report = told(tmp_path, MAKE, MAKE, (WORKING, script))
    assert [one.status for one in report.packages] == ["packaged", status]
    (stage,) = [one for one in report.stages if one.name == "package"]
    assert stage.status == "failed"
    assert f"the image of head: {status}" in stage.message
    assert words in stage.message
    assert "base's is fine" in stage.message
    assert Path(report.packages[1].log).exists()
    assert (report.exit_code, report.conclusion) == (NO, "failure")


def test_a_base_without_a_working_image_does_not_fail_the_head(tmp_path: Path) -> None:
    report = told(tmp_path, MAKE, MAKE, ("exit 1", WORKING))
    assert [one.status for one in report.packages] == ["failed", "packaged"]
    assert (report.exit_code, report.conclusion) == (OK, "success")


def test_a_head_that_declares_no_package_any_more_is_told(tmp_path: Path) -> None:
    report = told(tmp_path, MAKE, None)
    (stage,) = [one for one in report.stages if one.name == "package"]
    assert stage.message == "head declares no [package] command any more, and base does"
    assert report.conclusion == "failure"


def test_without_a_command_there_is_no_such_stage(tmp_path: Path) -> None:
    report = told(tmp_path, None, None)
    assert report.packages == ()
    assert "package" not in {one.name for one in report.stages}


@pytest.mark.heavy
def test_a_real_image_by_buildah_in_chroot_isolation(tmp_path: Path) -> None:
    need("buildah", "busybox")
    stores = f"--root {tmp_path}/store --runroot {tmp_path}/run --storage-driver vfs"
    make = (
        "cp $(command -v busybox) . && printf 'FROM scratch\\nCOPY busybox /bin/sh\\n' > Dockerfile"
        f" && buildah {stores} bud --isolation chroot --pull-never -t $CIWM_IMAGE ."
    )
    report = told(tmp_path, make, make, ("exit 0", "exit 0"))
    # SMOKE runs image.sh; that the image is there is asked of buildah itself
    assert [one.status for one in report.packages] == ["packaged", "packaged"]
    log = Path(report.packages[1].log).read_text()
    assert report.packages[1].image in log
