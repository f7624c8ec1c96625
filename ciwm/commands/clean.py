"""`ciwm clean`: give disk space back."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, get_args

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from ciwm.launch.cache import Kind, Removal

AGE_S = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
SIZE_BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SIZE_BYTES |= {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def _quantity(units: dict[str, int]) -> Callable[[Any, Any, str | None], float | None]:
    """A callback that turns a number with one of some units into the smallest of them."""

    def convert(_ctx: Any, _param: Any, value: str | None) -> float | None:
        if value is None:
            return None
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*", value)
        if match is None or match.group(2) not in units:
            raise click.BadParameter(f"{value!r} is not a number with a unit ({', '.join(units)})")
        return float(match.group(1)) * units[match.group(2)]

    return convert


@click.command()
@click.option("--builds", is_flag=True, help="Cached builds, worktrees, and what a map compiled.")
@click.option(
    "--reports",
    is_flag=True,
    help="What sync reports keep: tried, read, asked for.",
)
@click.option("--runs", is_flag=True, help="Journals and logs of measured runs.")
@click.option(
    "--older-than",
    "older_than_s",
    metavar="AGE",
    callback=_quantity(AGE_S),
    help="Only what nobody used for that long, as 7d, 12h, 30min.",
)
@click.option(
    "--max-size",
    "max_bytes",
    metavar="SIZE",
    callback=_quantity(SIZE_BYTES),
    help="Only the longest unused, until the rest fits, as 20GiB.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    older_than_s: float | None,
    max_bytes: float | None,
    *,
    builds: bool,
    reports: bool,
    runs: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove cached builds, worktrees, measured runs and what sync reports keep.

    Without options: every cached build and worktree, and what sync reports keep. Runs, which
    cannot be made again, only go with --runs. What a job is using stays, and is named.
    """
    from ciwm.launch.cache import Kind, cache_root, entries, evict  # noqa: PLC0415

    unstated = not (builds or reports or runs)
    kinds: list[Kind] = ["builds", "worktrees", "extensions"] if builds or unstated else []
    kinds += ["scans", "replays", "drift", "pulls"] if reports or unstated else []
    kinds += ["runs"] if runs else []
    everything = older_than_s is None and max_bytes is None
    removals = evict(
        kinds,
        limit_bytes=-1 if everything else max_bytes,
        older_than_s=older_than_s,
        dry_run=dry_run,
    )
    freed_bytes = sum(r.entry.size_bytes for r in removals if not r.kept_because)
    there_bytes = sum(e.size_bytes for kind in get_args(Kind) for e in entries(kind))
    answer = {
        "cache": str(cache_root()),
        "dry_run": dry_run,
        "freed_bytes": freed_bytes,
        "removed": [_described(r) for r in removals if not r.kept_because],
        "kept": [_described(r) for r in removals if r.kept_because],
        "left_bytes": there_bytes - (freed_bytes if dry_run else 0),
    }
    click.echo(json.dumps(answer, indent=2) if as_json else _told(answer))
    return 0


def _described(removal: Removal) -> dict[str, Any]:
    entry = removal.entry
    return {
        "kind": entry.kind,
        "name": entry.name,
        "size_bytes": entry.size_bytes,
        "kept_because": removal.kept_because,
    }


def _told(answer: dict[str, Any]) -> str:
    verb = "would remove" if answer["dry_run"] else "removed"
    lines = [
        f"{verb} {gone['kind']}/{gone['name']} ({_size(gone['size_bytes'])})"
        for gone in answer["removed"]
    ]
    lines += [
        f"kept {kept['kind']}/{kept['name']}: {kept['kept_because']}" for kept in answer["kept"]
    ]
    freed = "would be freed" if answer["dry_run"] else "freed"
    lines.append(
        f"{_size(answer['freed_bytes'])} {freed}, {_size(answer['left_bytes'])} left in "
        f"{answer['cache']}"
    )
    return "\n".join(lines)


def _size(size_bytes: float) -> str:
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size_bytes >= SIZE_BYTES[unit]:
            return f"{size_bytes / SIZE_BYTES[unit]:.1f} {unit}"
    return f"{size_bytes:.0f} B"
