"""Writes the tables of the action's inputs and outputs into README.md, or checks them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- action.yml: begin -->", "<!-- action.yml: end -->"


def tables(action: dict[str, Any]) -> str:
    """Both tables in Markdown."""
    inputs = [
        f"| `{name}` | {_cell(one['description'])} | {_default(one.get('default', ''))} |"
        for name, one in action["inputs"].items()
    ]
    outputs = [
        f"| `{name}` | {_cell(one['description'])} |" for name, one in action["outputs"].items()
    ]
    lines = ["| input | what it is | default |", "|---|---|---|", *inputs, ""]
    return "\n".join([*lines, "| output | what it is |", "|---|---|", *outputs])


def current(readme: str) -> str:
    """The README with the tables of action.yml as it is now."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    head, _, rest = readme.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{tables(action)}\n{END}{tail}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _default(text: str) -> str:
    return f"`{text}`" if text else ""


def main() -> int:
    """Exit code 1 when the README was not current."""
    path = ROOT / "README.md"
    before = path.read_text(encoding="utf-8")
    after = current(before)
    if "--check" not in sys.argv[1:]:
        path.write_text(after, encoding="utf-8")
        return 0
    if before != after:
        print("README.md: run python scripts/action_table.py", file=sys.stderr)  # noqa: T201
    return int(before != after)


if __name__ == "__main__":
    sys.exit(main())
