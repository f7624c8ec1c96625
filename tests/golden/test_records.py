"""Every kind of file we write, byte for byte, and that its JSON Schema describes it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from ciwm.records import FILES, parse_record
from tests.golden.files import FOLDER, assert_golden
from tests.records_examples import ONE_OF_EACH

NAMES = [kind.__name__ for kind in FILES]


def golden(name: str) -> Any:
    return json.loads((FOLDER / "records" / f"{name}.json").read_text(encoding="utf-8"))


def test_there_is_an_example_of_every_kind_of_file() -> None:
    assert [type(example) for example in ONE_OF_EACH] == list(FILES)


@pytest.mark.parametrize("example", ONE_OF_EACH, ids=NAMES)
def test_a_record_is_written_as_it_always_was(example: Any) -> None:
    assert_golden(f"records/{type(example).__name__}.json", example.to_json())


@pytest.mark.parametrize("example", ONE_OF_EACH, ids=NAMES)
def test_a_golden_record_reads_back_to_an_equal_one(example: Any) -> None:
    name = type(example).__name__
    text = (FOLDER / "records" / f"{name}.json").read_text(encoding="utf-8")
    assert parse_record(text, type(example), source=name) == example


@pytest.mark.parametrize("kind", FILES, ids=NAMES)
def test_the_json_schema_describes_the_golden_record_and_no_other_field(kind: Any) -> None:
    schema = kind.model_json_schema(mode="serialization")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )
    data = golden(kind.__name__)
    validator.validate(data)
    with pytest.raises(jsonschema.ValidationError, match="Additional properties"):
        validator.validate({**data, "verdict_of_a_friend": "pass"})
