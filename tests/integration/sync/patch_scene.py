"""A repository with a patch queue, and a clone of the upstream its patches are for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.integration.sync.git_scene import Scene, new_repository, numbered

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.sync.git_scene import Ciwm

CONFIG = """[upstream]
patches = "patches/"
pin = { file = ".upstream-commit" }
repository = "../upstream"
"""


@dataclass(frozen=True)
class PatchScene:
    """`upstream` is checked out at the pin until `upstream_moves`; `ours` holds the patches."""

    upstream: Scene
    ours: Scene

    def patch(self, header: str = "", **files: str | bytes) -> str:
        """The diff that writing files would make in upstream's checkout, under a header.

        The files stay written, so that the next patch builds on them.
        """
        for name, content in files.items():
            self.upstream.write(name.replace("__", "."), content)
        self.upstream.git("add", "-A")
        diff = self.upstream.raw("diff", "--cached", "--binary").decode()
        self.upstream.commit_index("patched")
        return f"{header}\n\n{diff}" if header else diff

    def upstream_moves(self, message: str = "", **files: str | bytes) -> str:
        """A commit of upstream's main branch."""
        self.upstream.git("checkout", "-q", "-f", "main")
        return self.upstream.commit(message, **files) if message else ""

    def queue(self, *patches: str, series: str | None = None, config: str = CONFIG) -> None:
        """Commit the patches as 1.patch, 2.patch, ... and a series of them."""
        names = [f"{number}.patch" for number in range(1, len(patches) + 1)]
        for name, patch in zip(names, patches, strict=True):
            self.ours.write(f"patches/{name}", patch)
        self.ours.write("patches/series", "\n".join(names) if series is None else series)
        self.ours.write("ciwm.toml", config)
        self.ours.commit("queue")

    def report(self, ciwm: Ciwm, *options: str) -> dict[str, Any]:
        """The record."""
        return ciwm(self.ours.path, "--json", *options).report

    def fits(self, ciwm: Ciwm) -> dict[str, str]:
        """How each patch fits, by name."""
        return {patch["name"]: patch["fits"] for patch in self.report(ciwm)["patches"]["patches"]}


def patch_scene(tmp_path: Path) -> PatchScene:
    """Upstream with a.txt, b.txt and c.txt of numbered lines, pinned at its first commit.

    Its checkout is detached there, for the patches to be made in.
    """
    upstream = new_repository(tmp_path / "upstream")
    pin = upstream.commit("base", **{f"{name}__txt": numbered(1, 40) for name in "abc"})
    upstream.git("tag", "v1.0")
    upstream.git("checkout", "-q", "--detach")
    ours = new_repository(tmp_path / "ours")
    ours.write(".upstream-commit", f"# what the patches are for\n{pin}\n")
    return PatchScene(upstream, ours)
