"""Drift of a plugin: time on one core against parsing alone, and known breaks found again.

python tests/bench/drift.py time  PLUGIN UPSTREAM --plugin REV --old REV --new REV [--package NAME]
python tests/bench/drift.py bumps PLUGIN UPSTREAM
python tests/bench/drift.py releases FOLDER CSV

PLUGIN and UPSTREAM are clones, bare or not. `time` reports once with an empty cache and once with a
full one, and compares both with `ast.parse` of the files that have to be read; the limit is 15 s
of CPU. `bumps` takes six pin bumps of vllm-ascend whose messages name the upstream changes they
follow, and looks for those in the report on the commit before; exit code 1 when fewer than 8 of 10
are found, or the bump that blames nothing has more than one hard finding. `releases` writes the
findings of two releases of vllm-ascend, each against the next vLLM, as CSV; FOLDER holds the
source distributions of all of them, unpacked (vllm_ascend-0.13.0, vllm-0.13.0, vllm-0.14.0, ...).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_S = 15.0
# bump, old pin, new pin, and the upstream commits that the bump's message blames
BUMPS = (
    ("b8b68b3dfe41", "6d8246aa", "c60e6137", ("aed16879a",)),
    ("f39bd309b65e", "c60e6137", "9607d5eb", ("9607d5eb4",)),
    ("02f89d166f36", "9607d5eb", "5aeb9254", ("1c3ffdbec", "26e673fe9", "0ff8ebb2d", "bf8b26cad")),
    ("96eb1ed40825", "5aeb9254", "f225ea7d", ()),
    ("a05518382112", "f225ea7d", "b1068903", ("969b4da3a", "de94289a9")),
    ("ac1c2cd9ac6f", "b1068903", "52d0cb84", ("e6750d0b1", "6160ba415")),
)
WANTED, HARD_AT_MOST = 8, 1
RELEASES = (("0.13.0", "0.14.0"), ("0.18.0", "0.19.0"))  # the pin is the plugin's own version
COLUMNS = ("kind", "severity", "symbol", "upstream", "use")


def report(
    repositories: tuple[str, str], revisions: tuple[str, str, str], cache: str, package: str
) -> Any:
    """The report as a user would get it; revisions are plugin, old pin and target."""
    plugin, old, new = revisions
    pin = f'revision = "{old}"'
    return told(repositories, pin, (new, "--downstream", plugin), cache, package)


def told(
    repositories: tuple[str, str], pin: str, arguments: tuple[str, ...], cache: str, package: str
) -> Any:
    """The record for a pin as TOML; `repositories` are the plugin's and upstream's."""
    upstream = json.dumps(str(Path(repositories[1]).resolve()))
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        config.write(
            f'[upstream]\nstyle = "plugin"\nrepository = {upstream}\npackage = "{package}"\n'
            f"pin = {{ {pin} }}\n"
        )
        config.flush()
        command = [sys.executable, "-m", "ciwm", "-C", repositories[0], "sync-report"]
        done = subprocess.run(
            [*command, *arguments, "--json", "--quiet", "--config", config.name],
            env={**os.environ, "PYTHONPATH": str(ROOT), "CIWM_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            check=True,
        )
    return json.loads(done.stdout)


def cpu_s(who: int) -> float:
    """CPU seconds, user and system."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def parsing_s(repository: str, revisions: tuple[str, ...], folder: str) -> tuple[int, float]:
    """Different Python files of some revisions, and the CPU seconds ast.parse takes on them."""
    import ast  # noqa: PLC0415
    import warnings  # noqa: PLC0415

    blobs = set()
    for revision in revisions:
        listed = git(repository, "ls-tree", "-r", revision, "--", folder or ".").splitlines()
        blobs |= {line.split()[2] for line in listed if line.endswith(b".py")}
    sources = [git(repository, "cat-file", "blob", blob.decode()) for blob in sorted(blobs)]
    warnings.simplefilter("ignore")
    started = cpu_s(resource.RUSAGE_SELF)
    for source in sources:
        ast.parse(source)
    return len(sources), cpu_s(resource.RUSAGE_SELF) - started


def git(repository: str, *arguments: str) -> bytes:
    """Standard output of a git command."""
    return subprocess.run(
        ["git", "-C", repository, *arguments], stdout=subprocess.PIPE, check=True
    ).stdout


def measured(chosen: argparse.Namespace) -> bool:
    """Print times cold and warm; whether the cold one is within the limit."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    repositories, revisions = (
        (chosen.plugin_repository, chosen.upstream),
        (
            chosen.plugin,
            chosen.old,
            chosen.new,
        ),
    )
    files, plain = parsing_s(repositories[0], (chosen.plugin,), "")
    theirs, more = parsing_s(repositories[1], (chosen.old, chosen.new), chosen.package)
    print(f"ast.parse alone: {files} + {theirs} files, {plain + more:.2f} s CPU")
    cold = 0.0
    with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as cache:
        for name in ("empty cache", "full cache"):
            before, started = cpu_s(resource.RUSAGE_CHILDREN), time.perf_counter()
            found = report(repositories, revisions, cache, chosen.package)
            took = cpu_s(resource.RUSAGE_CHILDREN) - before
            cold = cold or took
            wall = time.perf_counter() - started
            print(
                f"{name}: {took:.2f} s CPU, {wall:.2f} s wall on one core, "
                f"ratio {took / (plain + more):.2f}; {len(found['drift'])} findings"
            )
    print(f"limit: {LIMIT_S} s with an empty cache")
    return cold <= LIMIT_S


def found_again(chosen: argparse.Namespace) -> bool:
    """Print what of the labelled bumps is found; whether it is enough."""
    hits, blamed_all, control = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as cache:
        for bump, old, new, blamed in BUMPS:
            revisions = (f"{bump}^", old, new)
            drift = report((chosen.plugin_repository, chosen.upstream), revisions, cache, "vllm")[
                "drift"
            ]
            hard = sum(each["severity"] == "hard" for each in drift)
            told: dict[str, str] = {}
            for each in drift:
                for commit in (each["commit"], *each["other_commits"]):
                    if commit and told.get(commit["sha"][:9]) != "hard":
                        told[commit["sha"][:9]] = each["severity"]
            print(f"{bump}: {hard} hard, {len(drift) - hard} soft")
            for sha in blamed:
                print(f"  {sha}: {told.get(sha, 'not found')}")
            hits += sum(sha in told for sha in blamed)
            blamed_all += len(blamed)
            control = control if blamed else max(control, hard)
    print(f"{hits} of {blamed_all} blamed changes found; {control} hard where nothing is blamed")
    return hits >= WANTED and control <= HARD_AT_MOST


def written(folder: Path, file: Path) -> bool:
    """Write the findings of both releases."""
    with tempfile.TemporaryDirectory(prefix="ciwm-bench-") as scratch, file.open("w") as page:
        rows = csv.writer(page, lineterminator="\n")
        rows.writerow(("plugin", "target", *COLUMNS, "uses", "only_in_tests", "detail"))
        for release, target in RELEASES:
            plugin = Path(scratch, release)
            shutil.copytree(folder / f"vllm_ascend-{release}", plugin, symlinks=True)
            shutil.rmtree(plugin / ".git", ignore_errors=True)
            for arguments in (
                ("init", "-q"),
                ("add", "--all", "--force"),
                ("commit", "-q", "-m", "plugin"),
            ):
                git(str(plugin), "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments)
            pin = f"folder = {json.dumps(str((folder / f'vllm-{release}').resolve()))}"
            repositories = str(plugin), str(folder / f"vllm-{target}")
            drift = told(repositories, pin, (), f"{scratch}/cache", "vllm")["drift"]
            for each in drift:
                more = each["use_count"], "yes" if each["in_tests"] else "no", each["detail"]
                rows.writerow((release, target, *(each[name] for name in COLUMNS), *more))
            hard = sum(each["severity"] == "hard" for each in drift)
            print(f"{release} against {target}: {hard} hard, {len(drift) - hard} soft")
    return True


def main() -> int:
    """Measure or look for known breaks; see the module's text."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("time", "bumps", "releases"))
    parser.add_argument("plugin_repository")
    parser.add_argument("upstream")
    parser.add_argument("--plugin", default="HEAD")
    parser.add_argument("--old", default="")
    parser.add_argument("--new", default="HEAD")
    parser.add_argument("--package", default="vllm")
    chosen = parser.parse_args()
    if chosen.what == "releases":
        return 0 if written(Path(chosen.plugin_repository), Path(chosen.upstream)) else 1
    good = measured(chosen) if chosen.what == "time" else found_again(chosen)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
