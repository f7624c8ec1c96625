"""Time and memory of the whole sync report against the length of the history.

python tests/bench/sync_growth.py [--commits N ...] [--culprits SECONDS]

For each N (default: 12,500 to 200,000) a history of N upstream commits over 4,000 files is written
by `git fast-import`; a fork leaves it half way, carries 200 commits and has synced 40 times.
Printed are times and peak memory, CPU time and memory per commit against the shortest history: 1.0
is linear. Exit code 1 when either grows more than 1.3 times faster than the history.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.sync_merges import Ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILES = 4_000
CARRIED = 200
SYNCS = 40
NEW_FILES = 0.1
MIDDLE = 30
FASTER = 1.3


def path(number: int) -> str:
    """One of the paths; forty to a folder."""
    return f"package/part{number // 400}/module{number // 40 % 10}/file{number}.py"


def content(number: int, changes: dict[int, str]) -> str:
    """A file of 60 lines, some of them changed."""
    lines = [changes.get(line, f"line {line} of file {number}") for line in range(60)]
    return "\n".join(lines) + "\n"


class Stream:
    """Commits for `git fast-import`, half an hour apart; upstream's and the fork's own."""

    def __init__(self, commits: int) -> None:
        self.draw = random.Random(commits)
        self.clock = 1_700_000_000
        self.upstream_lines: dict[int, dict[int, str]] = {}
        self.synced_lines: dict[int, dict[int, str]] = {}
        self.own_lines: dict[int, str] = {}
        self.files = FILES
        self.unsynced: set[int] = set(range(FILES))

    def commit(self, branch: str, changes: Iterable[tuple[int, str]], *parents: str) -> str:
        """One commit that writes files, by number."""
        self.clock += 1_800
        message = f"change at {self.clock} (#{self.clock % 100_000})"
        parts = [
            f"commit refs/heads/{branch}",
            f"committer A Developer <developer@example.org> {self.clock} +0000",
            f"data {len(message)}\n{message}",
            *parents,
        ]
        parts += [f"M 644 inline {path(n)}\ndata {len(body)}\n{body}" for n, body in changes]
        return "\n".join([*parts, ""])

    def upstream(self) -> str:
        """An upstream commit: mostly a line of a file, now and then a new file."""
        if self.draw.random() < NEW_FILES:
            number = self.files
            self.files += 1
        else:
            number, line = self.draw.randrange(FILES), self.draw.randrange(60)
            self.upstream_lines.setdefault(number, {})[line] = f"upstream's at {self.clock}"
        self.unsynced.add(number)
        return self.commit("main", [(number, content(number, self.upstream_lines.get(number, {})))])

    def own(self) -> str:
        """The fork changes the middle of a file."""
        number = self.draw.randrange(FILES)
        self.own_lines[number] = f"ours at {self.clock}"
        return self.commit("fork", [(number, self._in_fork(number))])

    def sync(self) -> str:
        """The fork merges upstream; where both changed the middle, ours stays."""
        for number in self.unsynced:
            self.synced_lines[number] = dict(self.upstream_lines.get(number, {}))
        files = [(number, self._in_fork(number)) for number in sorted(self.unsynced)]
        self.unsynced = set()
        return self.commit("fork", files, "merge refs/heads/main")

    def _in_fork(self, number: int) -> str:
        lines = dict(self.synced_lines.get(number, {}))
        if number in self.own_lines:
            lines[MIDDLE] = self.own_lines[number]
        return content(number, lines)


def written(commits: int) -> Iterator[str]:
    """The whole stream: the base, then upstream, with the fork's commits and syncs on the way."""
    stream = Stream(commits)
    yield stream.commit("main", [(number, content(number, {})) for number in range(FILES)])
    stream.unsynced = set()
    half = commits // 2
    yield stream.commit("fork", [(0, content(0, {1: "the fork's own"}))], "from refs/heads/main")
    for number in range(commits):
        yield stream.upstream()
        if number < half and number % max(1, half // CARRIED) == 0:
            yield stream.own()
        if number < half and number % (half // SYNCS) == half // SYNCS - 1:
            yield stream.sync()
    yield "done\n"


def repository(folder: Path, commits: int) -> Path:
    """A bare repository with branches fork (HEAD) and main, packed."""
    bare = folder / f"{commits}.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "-b", "fork", str(bare)], check=True)
    command = ["git", "-C", str(bare), "fast-import", "--quiet", "--done"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as importing:
        assert importing.stdin is not None
        for part in written(commits):
            importing.stdin.write(part.encode())
    return bare


def main() -> int:
    """Measure every length; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    lengths = [12_500, 50_000, 200_000]
    parser.add_argument("--commits", type=int, nargs="+", default=lengths)
    parser.add_argument("--culprits", default="600", metavar="SECONDS")
    chosen = parser.parse_args()
    good, first = True, None
    with tempfile.TemporaryDirectory(prefix="ciwm-growth-") as folder:
        for commits in chosen.commits:
            bare = repository(Path(folder), commits)
            cache = str(Path(folder, f"cache-{commits}"))
            asked = ["main", "--culprits", chosen.culprits, "--history"]
            done = Ended(str(bare), asked, cache)
            first = first or (commits, done)
            length = commits / first[0]
            time_ratio = done.cpu_s / first[1].cpu_s / length
            memory_ratio = done.peak_bytes / first[1].peak_bytes / length
            conflicts = done.record["conflicts"]
            print(
                f"{commits:>8,} commits: {done.wall_s:7.1f} s, {done.cpu_s:7.1f} CPU s, "
                f"{done.peak_bytes / 10**6:6.0f} MB, "
                f"first line {done.first_line_s:.2f} s; per commit against the first: time "
                f"{time_ratio:.2f}, memory {memory_ratio:.2f}; {conflicts['count']} conflicts, "
                f"{len(conflicts['culprits'])} culprits, scan {conflicts['scan']}",
                flush=True,
            )
            good &= max(time_ratio, memory_ratio) <= FASTER
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
