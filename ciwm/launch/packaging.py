"""The container image of a build: made, and tried, by the recipes that the configuration gives."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ciwm.launch.recipe import recipe_environment
from ciwm.launch.tail import failed_lines
from ciwm.proc import run_logged
from ciwm.records.package import PackageRecord

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from ciwm.config import Config
    from ciwm.proc import Ended
    from ciwm.records import BuildRecord, Side
    from ciwm.records.package import PackageStatus

IMAGE_KEY = 16  # hex digits of a build's key: enough to be the only one


def package(
    build: BuildRecord,
    side: Side,
    config: Config,
    stop: threading.Event,
    on_line: Callable[[str], None],
) -> PackageRecord:
    """Make the image of a build that succeeded, and smoke-test it; what goes wrong is recorded.

    Raises OSError when there is no shell, or no room for a log.
    """
    recipe = config.package
    log = Path(build.log).with_name(f"package-{side}.log")
    log.unlink(missing_ok=True)
    image = f"localhost/ciwm:{build.key[:IMAGE_KEY]}"
    env = {**recipe_environment(config.build), "CIWM_IMAGE": image}

    def run(command: str) -> Ended:
        with log.open("a", encoding="utf-8", errors="surrogateescape") as note:
            note.write(f"ciwm: sh -ec {shlex.quote(command)}\n")
        return run_logged(
            ["/bin/sh", "-ec", command],
            log=log,
            cwd=Path(build.directory),
            env=env,
            timeout_s=recipe.timeout_s,
            on_line=on_line,
            stop=stop,
        )

    made = run(recipe.command or "")
    status, tried = _status(made, "failed"), None
    if status == "packaged" and recipe.smoke is not None:
        tried = run(recipe.smoke)
        status = _status(tried, "smoke failed")
    return PackageRecord(
        side=side,
        status=status,
        image=image,
        package_s=round(made.duration_s, 3),
        smoke_s=None if tried is None else round(tried.duration_s, 3),
        exit_code=(tried or made).status,
        log=str(log),
        log_tail=() if status == "packaged" else failed_lines(log),
    )


def _status(ended: Ended, otherwise: PackageStatus) -> PackageStatus:
    if ended.end == "timeout":
        return "timeout"
    if ended.end == "interrupted":
        return "interrupted"
    return "packaged" if ended.status == 0 else otherwise
