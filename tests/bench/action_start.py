"""From the action's start to its first useful line, with an empty tool cache and with a warm one.

python tests/bench/action_start.py

The useful line is what says which revisions are compared: the environment is there, the event is
read, the history is here. Cold includes the virtual environment, and what pip fetches from the
package registry.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
WARM = 5
FIRST = "comparing "


def checkout(folder: Path) -> dict[str, str]:
    """A repository of two commits and the environment of a push of the second."""
    git = ["git", "-C", str(folder), "-c", "user.name=b", "-c", "user.email=b@example.org"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    for number in range(2):
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", str(number)], check=True)
    shas = subprocess.run(
        [*git, "rev-list", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.split()
    event = folder / ".git" / "event.json"
    pushed = {"before": shas[1], "after": shas[0], "ref": "refs/heads/main"}
    event.write_text(json.dumps({**pushed, "repository": {"full_name": "acme/fork"}}))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    job = {"GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(event), "CIWM_FETCH": "false"}
    pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {**kept, **pip, **job}


def first_line_s(folder: Path, environment: dict[str, str]) -> float:
    """Seconds from the start of the action's script to the line."""
    started = time.perf_counter()
    with subprocess.Popen(
        ["bash", str(ROOT / "scripts" / "run-action.sh")],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as step:
        assert step.stderr is not None
        for line in step.stderr:
            if line.startswith(FIRST):
                taken = time.perf_counter() - started
                step.stderr.read()
                return taken
    sys.exit("the action said nothing useful")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "checkout")
        variables = {**checkout(place), "RUNNER_TOOL_CACHE": str(Path(folder, "tools"))}
        cold_s = first_line_s(place, variables)
        warm_s = sorted(first_line_s(place, variables) for _ in range(WARM))
        print(
            f"cold {cold_s:.1f} s, warm {warm_s[WARM // 2]:.2f} s "
            f"({warm_s[0]:.2f} to {warm_s[-1]:.2f}, n={WARM}), "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        )
