"""Reading records: what is refused, and that the refusal is one clear line."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ciwm.errors import UsageError
from ciwm.records import FILES, BumpReport, Environment, RecordFile, parse_record, read_record
from tests.records_examples import ONE_OF_EACH, WHEN, bump, environment

if TYPE_CHECKING:
    from pathlib import Path

JSON_VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(max_size=20),
        st.sampled_from(["2026-01-01", "base", "lower", "\x1b[31m", "\u202e"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, value in inner:
        found.append((*path, key))
        if isinstance(value, (dict, list)):
            found += places(value, (*path, key))
    return found


def with_value(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(data))
    target = copy
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return copy


def refusal(text: str, kind: type[RecordFile] = Environment) -> str:
    with pytest.raises(UsageError) as raised:
        parse_record(text, kind, source="file.json")
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 600
    assert raised.value.message.isprintable()
    return raised.value.message


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(environment().to_json()), **fields})


@pytest.mark.parametrize("example", ONE_OF_EACH, ids=lambda example: type(example).__name__)
def test_what_is_written_reads_back_equal(example: RecordFile, tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_text(example.to_json(), encoding="utf-8")
    assert read_record(file, type(example)) == example


@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_any_value_anywhere_is_read_back_as_it_is_or_refused_in_one_line(
    data: st.DataObject,
) -> None:
    example = data.draw(st.sampled_from(ONE_OF_EACH))
    original = json.loads(example.to_json())
    path = data.draw(st.sampled_from(places(original)))
    text = json.dumps(with_value(original, path, data.draw(JSON_VALUES)))
    try:
        record = parse_record(text, type(example), source="file.json")
    except UsageError:
        refusal(text, type(example))
    else:
        assert parse_record(record.to_json(), type(example), source="again.json") == record


@pytest.mark.parametrize("kind", FILES, ids=lambda kind: kind.__name__)
def test_a_newer_schema_is_refused_with_what_to_do(kind: type[RecordFile]) -> None:
    with pytest.raises(UsageError, match="was written by a newer ciwm") as raised:
        parse_record('{"schema_version": 2, "unknown": true}', kind, source="file.json")
    assert raised.value.hint == "update ciwm: pip install -U ciwm"


def test_an_older_schema_is_upgraded_on_reading() -> None:
    class Renamed(RecordFile):
        CURRENT: ClassVar[int] = 2
        schema_version: int = 2
        duration_s: float

        @classmethod
        def upgrade(cls, data: dict[str, Any]) -> dict[str, Any]:
            if data["schema_version"] == 1:
                return {"schema_version": 2, "duration_s": data["duration_ms"] / 1000}
            return data

    old = parse_record('{"schema_version": 1, "duration_ms": 2500}', Renamed, source="old.json")
    assert old == Renamed(duration_s=2.5)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_refused(word: str) -> None:
    assert f"{word} is not allowed" in refusal(changed(cpu_count=-7).replace("-7", word))


def test_a_number_too_large_for_a_float_is_refused() -> None:
    text = bump().to_json().replace('"launch_sd_pct": 0.8', '"launch_sd_pct": 1e999', 1)
    assert "verdict.series.0.launch_sd_pct: Input should be a finite number" in refusal(
        text, BumpReport
    )


def test_a_nan_that_came_in_unseen_is_not_written_as_not_measured() -> None:
    broken = environment().model_copy(
        update={
            "accelerators": (
                environment().accelerators[0].model_copy(update={"power_limit_w": math.nan}),
            )
        }
    )
    assert "NaN is not allowed" in refusal(broken.to_json())


def test_an_unknown_field_is_refused_by_name() -> None:
    assert "cpu_modle: Extra inputs are not permitted" in refusal(changed(cpu_modle="x"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu_count", "8"),
        ("cpu_count", 8.5),
        ("cpu_count", True),
        ("cpu_count", None),
        ("cpu_model", 5),
        ("accelerators", {}),
        ("variables", []),
        ("variables", {"OMP_NUM_THREADS": 8}),
    ],
)
def test_types_are_taken_literally(field: str, value: Any) -> None:
    assert f": {field}" in refusal(changed(**{field: value}))


@pytest.mark.parametrize("version", ["1", 1.0, True, 0, -3, [], "x" * 10_000])
def test_a_schema_version_that_is_no_positive_integer_is_refused(version: Any) -> None:
    assert "schema_version" in refusal(changed(schema_version=version))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"text"',
        "\ufeff{}",
        "{",
        "{}",
        "[" * 200_000,
        '{"schema_version":' + "[" * 200_000,
        '{"schema_version": ' + "9" * 10_000 + "}",
        '{"schema_version": 1, "schema_version": 1}',
        '{"schema_version": 1, "' + "x" * 1_000_000 + '": 1}',
        '{"schema_version": 1, "\\u001b[2J\\u202e\\n": 1}',
        '{"schema_version": 1, "cpu_model": "\\ud800"}',
    ],
)
def test_hostile_json_is_refused_in_one_short_line(text: str) -> None:
    refusal(text)


def test_a_huge_integer_is_refused_in_one_short_line() -> None:
    text = changed().replace('"cpu_count": 16', '"cpu_count": ' + "9" * 10_000)
    assert len(refusal(text)) < 400


def test_a_time_without_zone_is_refused() -> None:
    text = bump().to_json().replace(WHEN.isoformat().replace("+00:00", "Z"), "2026-09-14T06:30:00")
    assert "generated_at: Input should have timezone info" in refusal(text, BumpReport)


def test_a_repeated_key_is_refused_by_name() -> None:
    text = changed().replace("{", '{"cpu_count": 1, ', 1)
    assert "'cpu_count' occurs twice" in refusal(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "absent.json", tmp_path, tmp_path / "bytes.json"):
        with pytest.raises(UsageError, match=f"cannot read {path}"):
            read_record(path, Environment)


def test_a_record_does_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        environment().cpu_count = 3  # type: ignore[misc]
