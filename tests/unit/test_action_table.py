"""The README's tables of the action are made from action.yml, and current."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_the_readme_lists_the_inputs_and_outputs_that_the_action_has() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "action_table.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_input_reaches_the_script_through_the_environment() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    given = " ".join(step["env"].values()) + step["working-directory"]
    for name in action["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in given
    assert "${{" not in step["run"]
