"""Culprits and past syncs of a real fork: how fast, and as right as merging everything.

python tests/bench/sync_merges.py REPOSITORY [UPSTREAM] [--downstream REV] [--verify]

REPOSITORY is a fork with its upstream fetched, bare or not. Printed are: upstream commits decided
per second and core, and the report after it from the cache; past syncs replayed and the time;
peak memory of the whole report with all its child processes; time to the first line of output.
With --verify every main-line commit is merged by plain `git merge-tree` as well, one at a time
(minutes), and the conflicting paths are compared. Exit code 1 when a limit is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
DECIDED_PER_CORE_S = 80
REPLAYS_PER_MINUTE = 100
PEAK_BYTES = 500 * 10**6
FIRST_LINE_S = 1.0
AMPLE_S = "600"


class Ended:
    """One report: the record, its wall and CPU seconds, peak memory, time to the first line."""

    def __init__(self, repository: str, arguments: list[str], cache: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "CIWM_CACHE_DIR": cache}
        command = [sys.executable, "-m", "ciwm", "-C", repository, "sync-report", *arguments]
        before, started = _cpu_s(), time.perf_counter()
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen(
                [*command, "--json"], env=environment, stdout=out, stderr=subprocess.PIPE
            )
            assert child.stderr is not None
            child.stderr.readline()
            self.first_line_s = time.perf_counter() - started
            self.peak_bytes = _peak_bytes(child)
            assert child.wait() == 0
            out.seek(0)
            self.record: dict[str, Any] = json.load(out)
        self.wall_s, self.cpu_s = time.perf_counter() - started, _cpu_s() - before


def _cpu_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _peak_bytes(child: subprocess.Popen[bytes]) -> int:
    """The most that a process and all below it held at once, looked at every 20 ms."""
    peak, top = 0, psutil.Process(child.pid)
    while child.poll() is None:
        total = 0
        for process in (top, *_below(top)):
            try:
                total += process.memory_full_info().uss
            except psutil.Error:
                continue
        peak = max(peak, total)
        time.sleep(0.02)
    return peak


def _below(top: psutil.Process) -> list[psutil.Process]:
    try:
        return top.children(recursive=True)
    except psutil.Error:
        return []


def one_by_one(repository: str, upstream: str, downstream: str) -> list[set[str]]:
    """Conflicting paths at every main-line commit, oldest first, by plain git."""
    walk = ("rev-list", "--first-parent", "--reverse", upstream, f"^{downstream}")
    commits = _git(repository, *walk).split()
    objects = _git(repository, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    found = []
    for start in range(0, len(commits), 20):
        with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as scratch:
            variables = {
                "GIT_OBJECT_DIRECTORY": scratch,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects.strip(),
            }
            merge = ("merge-tree", "--write-tree", "--name-only", "--no-messages", downstream)
            for sha in commits[start : start + 20]:
                paths = _git(repository, *merge, sha, **variables).splitlines()[1:]
                found.append({path for path in paths if path})
    return found


def _git(repository: str, *arguments: str, **variables: str) -> str:
    command = ["git", "-c", "core.quotePath=false", "-C", repository, *arguments]
    environment = {**os.environ, "LC_ALL": "C", **variables}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
    return done.stdout.decode("utf-8", "replace")


def culprits(repository: str, revisions: list[str], cache: str) -> tuple[bool, dict[str, Any]]:
    """Scan twice, the second time from the cache; whether it was quick, and the report."""
    plain = Ended(repository, [*revisions, "--culprits", "0", "--no-history"], cache)
    asked = [*revisions, "--culprits", AMPLE_S, "--no-history"]
    first, again = Ended(repository, asked, cache), Ended(repository, asked, cache)
    scan = first.record["conflicts"]["scan"]
    cpu_s = first.cpu_s - plain.cpu_s
    speed = scan["tried"] / cpu_s
    print(
        f"culprits: {len(first.record['conflicts']['culprits'])}, first conflict at index "
        f"{first.record['conflicts']['first']['index']}; {scan['tried']} of {scan['total']} "
        f"commits decided in {cpu_s:.1f} CPU s ({first.wall_s - plain.wall_s:.1f} s), "
        f"{scan['merged']} by merges of whole trees: {speed:.0f} a second and core"
    )
    print(
        f"  the same report from the cache: {again.wall_s / plain.wall_s:.2f} times the report "
        f"without culprits ({again.wall_s:.2f} s / {plain.wall_s:.2f} s)"
    )
    same = again.record["conflicts"]["culprits"] == first.record["conflicts"]["culprits"]
    return speed >= DECIDED_PER_CORE_S and same, first.record


def past_syncs(repository: str, revisions: list[str], cache: str) -> bool:
    """Replay all past syncs, then the same report again; whether it was quick."""
    asked = [*revisions, "--culprits", "0", "--history"]
    first, again = Ended(repository, asked, cache), Ended(repository, asked, cache)
    history, calibration = first.record["sync_history"], first.record["forecast"]["calibration"]
    replayed: int = history["replayed"]
    print(f"past syncs: {json.dumps(history, indent=1)}")
    whole = [sync for sync in first.record["syncs"] if not sync["unread_files"]]
    print(
        f"  {len(whole)} of them with every file here, "
        f"{sum(sync['conflicted_files'] for sync in whole)} conflicted files in these"
    )
    print(f"  calibration: {calibration}")
    print(
        f"  replayed in {first.wall_s:.1f} s ({first.cpu_s:.1f} CPU s), again {again.wall_s:.1f} s"
    )
    return replayed >= first.wall_s * REPLAYS_PER_MINUTE / 60


def whole_report(repository: str, revisions: list[str]) -> bool:
    """Everything at once, with nothing in the cache: memory, and the first line of output."""
    with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as cache:
        done = Ended(repository, [*revisions, "--culprits", AMPLE_S, "--history"], cache)
    print(
        f"whole report: {done.wall_s:.1f} s ({done.cpu_s:.1f} CPU s), peak memory "
        f"{done.peak_bytes / 10**6:.0f} MB, first line after {done.first_line_s:.2f} s"
    )
    return done.peak_bytes <= PEAK_BYTES and done.first_line_s <= FIRST_LINE_S


def verified(repository: str, upstream: str, downstream: str, report: dict[str, Any]) -> bool:
    """Whether the culprits are the commits at which merging every one gives more conflicts."""
    found = one_by_one(repository, upstream, downstream)
    rises = [i for i, paths in enumerate(found) if len(paths) > len(found[i - 1] if i else ())]
    walk = ("rev-list", "--first-parent", "--reverse", upstream, f"^{downstream}")
    commits = _git(repository, *walk).split()
    same = [commits[i] for i in rises] == [c["sha"] for c in report["conflicts"]["culprits"]]
    print(f"merged one by one: {len(found)} commits, {len(rises)} rises: same culprits: {same}")
    return same


def main() -> int:
    """Run all of it; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("repository")
    parser.add_argument("upstream", nargs="?", default="upstream/main")
    parser.add_argument("--downstream", default="HEAD")
    parser.add_argument("--verify", action="store_true")
    chosen = parser.parse_args()
    revisions = [chosen.upstream, "--downstream", chosen.downstream]
    with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as cache:
        good, report = culprits(chosen.repository, revisions, cache)
        good &= past_syncs(chosen.repository, revisions, cache)
    good &= whole_report(chosen.repository, revisions)
    if chosen.verify:
        good &= verified(chosen.repository, chosen.upstream, chosen.downstream, report)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
