"""`ciwm sync-report` against the plain git commands it stands on: same figures, time ratio.

python tests/bench/sync_report.py REPOSITORY [UPSTREAM ...] [--downstream REV] [--rounds N]

REPOSITORY is a fork with its upstream fetched, bare or not. For each UPSTREAM (default:
upstream/main) the figures of `git rev-list --left-right --count`, `git cherry`,
`git diff --no-renames --numstat` and `git merge-tree --write-tree` are compared with the report,
then both are timed by turns. Exit code 1 when a figure differs or the ratio exceeds 2.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
LIMIT = 2.0


class Git:
    """Plain git in one repository; merge-tree's objects go to a folder that is thrown away."""

    def __init__(self, repository: str, scratch: str) -> None:
        self.repository = repository
        objects = self.text("rev-parse", "--path-format=absolute", "--git-path", "objects")
        self.merging = {
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects.strip(),
        }

    def text(self, *arguments: str, **variables: str) -> str:
        """Standard output, whatever the status (merge-tree's is 1 for a conflict)."""
        command = ["git", "-c", "core.quotePath=false", "-C", self.repository, *arguments]
        environment = {**os.environ, "LC_ALL": "C", **variables}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
        return done.stdout.decode("utf-8", "replace")

    def four(self, upstream: str, downstream: str) -> tuple[str, str, str, str]:
        """The commands whose time is the yardstick."""
        return (
            self.text("rev-list", "--left-right", "--count", f"{upstream}...{downstream}"),
            self.text("cherry", upstream, downstream),
            self.text("diff", "--no-renames", "--numstat", f"{upstream}...{downstream}"),
            self.text("merge-tree", "--write-tree", downstream, upstream, **self.merging),
        )

    def figures(self, upstream: str, downstream: str) -> dict[str, Any]:
        """Every figure of the report that plain git has."""
        counts, cherry, numstat, merged = self.four(upstream, downstream)
        behind, ahead = counts.split()
        rows = [line.split("\t") for line in numstat.splitlines()]
        bases = self.text("merge-base", "--all", upstream, downstream).split()
        seconds = [int(self.text("log", "-1", "--format=%ct", rev)) for rev in (bases[0], upstream)]
        names = ("diff", "--no-renames", "--name-only")
        sides = [
            set(self.text(*names, bases[0], rev).splitlines()) for rev in (upstream, downstream)
        ]
        tree, _, rest = merged.partition("\n")
        staged = rest.partition("\n\n")[0].splitlines()
        files = sorted({line.split("\t", 1)[1] for line in staged if "\t" in line})
        main_line = ("rev-list", "--count", "--first-parent", upstream, f"^{downstream}")
        return {
            "merge_bases": bases,
            "behind.commits": int(behind),
            "behind.first_parent": int(self.text(*main_line)),
            "behind.seconds": seconds[1] - seconds[0],
            "ahead.commits": int(ahead),
            "carried.commits": sum(line.startswith("+") for line in cherry.splitlines()),
            "carried.upstreamed_commits": sum(line.startswith("-") for line in cherry.splitlines()),
            "carried.files": len(rows),
            "carried.binaries": sum(row[0] == "-" for row in rows),
            "carried.lines_added": sum(int(row[0]) for row in rows if row[0] != "-"),
            "carried.lines_removed": sum(int(row[1]) for row in rows if row[1] != "-"),
            "overlap.files": len(sides[0] & sides[1]),
            "conflicts.files": files,
            "conflicts.kinds": self.kinds(merged),
            "conflicts.hunks": sum(self.regions(tree, path) for path in files),
        }

    @staticmethod
    def kinds(merged: str) -> dict[str, int]:
        """How many conflicts of each kind git's messages name."""
        found = [
            line.split("(")[1].split(")")[0]
            for line in merged.splitlines()
            if line.startswith("CONFLICT (")
        ]
        return {kind: found.count(kind) for kind in sorted(set(found))}

    def regions(self, tree: str, path: str) -> int:
        """Opening markers in a file of the merged tree."""
        content = self.text("cat-file", "-p", f"{tree}:{path}", **self.merging)
        return sum(line.startswith("<<<<<<< ") for line in content.splitlines())


def ciwm(repository: str, upstream: str, downstream: str) -> dict[str, Any]:
    """The report, by a process of its own, as a user would get it."""
    command = [sys.executable, "-m", "ciwm", "-C", repository, "sync-report", upstream, "--json"]
    done = subprocess.run(
        [*command, "--quiet", "--downstream", downstream, "--culprits", "0", "--no-history"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def reported(report: dict[str, Any]) -> dict[str, Any]:
    """The report's figures under the names above."""
    behind, carried, conflicts = report["behind"], report["carried"], report["conflicts"]
    kinds = [file["kind"] for file in conflicts["files"]]
    whole = ("commits", "upstreamed_commits", "files", "binaries", "lines_added", "lines_removed")
    return {
        "merge_bases": report["merge_bases"],
        "behind.commits": behind["commits"],
        "behind.first_parent": behind["first_parent"],
        "behind.seconds": round(behind["days"] * 86400),
        "ahead.commits": report["ahead"]["commits"],
        **{f"carried.{name}": carried[name] for name in whole},
        "overlap.files": report["overlap"]["files"],
        "conflicts.files": [file["path"] for file in conflicts["files"]],
        "conflicts.kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "conflicts.hunks": conflicts["hunks"],
    }


def compare(git: Git, upstream: str, downstream: str) -> bool:
    """Print every figure of both; whether all agree."""
    plain = git.figures(upstream, downstream)
    ours = reported(ciwm(git.repository, upstream, downstream))
    print(f"\n{upstream} into {downstream}")
    for name, value in plain.items():
        shown = len(value) if name == "conflicts.files" else value
        verdict = "same" if ours[name] == value else f"DIFFERS: {ours[name]}"
        print(f"  {name:28} {shown!s:52} {verdict}")
    return plain == ours


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of an action's child processes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    action()
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(git: Git, upstream: str, downstream: str, rounds: int) -> float:
    """Median of time(ciwm) / time(git), each pair measured back to back, git and ciwm by turns."""
    ratios = []
    actions = {
        "git": lambda: git.four(upstream, downstream),
        "ciwm": lambda: ciwm(git.repository, upstream, downstream),
    }
    for number in range(rounds):
        names = ("git", "ciwm") if number % 2 == 0 else ("ciwm", "git")
        took = {name: timed(actions[name]) for name in names}
        ratios.append(took["ciwm"][0] / took["git"][0])
        shown = ", ".join(
            f"{name} {took[name][0]:.3f} s (CPU {took[name][1]:.3f} s)" for name in actions
        )
        print(f"  {shown}, ratio {ratios[-1]:.2f} (CPU {took['ciwm'][1] / took['git'][1]:.2f})")
    middle = statistics.median(ratios)
    print(f"  median ratio {middle:.2f} (limit {LIMIT})")
    return middle


def main() -> int:
    """Compare and time; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repository")
    parser.add_argument("upstream", nargs="*", default=["upstream/main"])
    parser.add_argument("--downstream", default="HEAD")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as scratch:
        git = Git(chosen.repository, scratch)
        for upstream in chosen.upstream or ["upstream/main"]:
            good &= compare(git, upstream, chosen.downstream)
            good &= ratio(git, upstream, chosen.downstream, chosen.rounds) <= LIMIT
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
