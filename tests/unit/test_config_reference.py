"""docs/configuration.md: every key, current, with its meaning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ciwm.cli import run
from ciwm.config import Config, find_config
from ciwm.config_section import Section
from ciwm.report.config_reference import COMMAND, config_reference
from ciwm.waivers import Waiver

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/configuration.md"


def sections(start: type[Section]) -> set[type[Section]]:
    """Every table's model, found by the definitions of the JSON Schema's own walk."""
    known = {each.__name__: each for each in _subclasses(Section)}
    named = start.model_json_schema().get("$defs", {})
    return {start, *(known[name] for name in named)}


def _subclasses(kind: type[Section]) -> list[type[Section]]:
    return [each for below in kind.__subclasses__() for each in (below, *_subclasses(below))]


def test_the_reference_is_what_its_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(COMMAND.split()[1:]) == 0
    assert DOCUMENT.read_text(encoding="utf-8") == capsys.readouterr().out, (
        f"{COMMAND} > {DOCUMENT}"
    )


@pytest.mark.parametrize("section", sorted({*sections(Config), Waiver} - {Config}, key=repr))
def test_every_key_is_there_with_its_meaning(section: type[Section]) -> None:
    text = config_reference()
    for name, field in section.model_fields.items():
        assert f"| `{name}` |" in text
        assert field.description, f"{section.__name__}.{name} says nothing"


@pytest.mark.parametrize("section", sorted({*sections(Config), Waiver} - {Config}, key=repr))
def test_a_key_is_one_row_however_many_paragraphs_its_meaning_has(section: type[Section]) -> None:
    rows = [line.split(" | ") for line in config_reference().splitlines() if line.startswith("| `")]
    for name, field in section.model_fields.items():
        meaning = " ".join((field.description or "").split()).replace("|", "\\|")
        assert any(row[0] == f"| `{name}`" and row[-1] == f"{meaning} |" for row in rows), name


def test_every_table_has_a_heading() -> None:
    text = config_reference()
    for table in ("[upstream.pin]", "[[workload]]", "[workload.metrics.NAME]", "[[gate.series]]"):
        assert f"`{table}`" in text


def test_the_schema_of_the_configuration_names_its_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["schema", "Config"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert set(schema["properties"]) == set(Config.model_fields)
    assert run(["schema", "Run", "--markdown"]) == 2


def test_the_configuration_of_the_readme_is_valid(tmp_path: Path) -> None:
    blocks = (ROOT / "README.md").read_text(encoding="utf-8").split("```toml\n")[1:]
    assert len(blocks) > 1
    for block in blocks:
        (tmp_path / "ciwm.toml").write_text(block.partition("```")[0], encoding="utf-8")
        assert find_config(tmp_path) != Config()
