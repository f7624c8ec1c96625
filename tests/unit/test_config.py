"""ciwm.toml: what is accepted, and how each mistake is explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ciwm.config import Config, find_config, parse_config, read_config
from ciwm.errors import USAGE, ConfigError

if TYPE_CHECKING:
    from pathlib import Path


def parsed(text: str) -> Config:
    config = parse_config(text.encode(), source="ciwm.toml")
    assert config is not None
    return config


def test_an_empty_file_is_all_defaults() -> None:
    assert parsed("") == Config()


def test_a_threshold_may_be_written_as_a_percentage() -> None:
    config = parsed(
        '[gate]\nthreshold = "2.5%"\n'
        '[[workload]]\nid = "w"\ncommand = "true"\n'
        'metrics = { t = { unit = "s", better = "lower", threshold = "7 %" } }\n'
    )
    assert config.gate.threshold_pct == 2.5
    assert config.workload[0].metrics["t"].threshold_pct == 7


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("20min", 1200), ("1.5h", 5400)])
def test_a_budget_may_be_written_as_a_time(text: str, seconds: float) -> None:
    assert parsed(f'[gate]\nbudget = "{text}"').gate.budget_s == seconds


def test_a_timed_callable_without_metrics_has_a_step_time_in_seconds() -> None:
    (workload,) = parsed('[[workload]]\nid = "w"\npython = "a.py:step"').workload
    (name, metric), *others = workload.declared_metrics.items()
    assert (name, metric.unit, metric.better, others) == ("step_time", "s", "lower", [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[gate]\nthresold = 3", "unknown key gate.thresold"),
        ("[build\n", "not TOML"),
        (f'[build]\ncommand = "{"x" * 2**17}"', "put it into a script of the repository"),
        ('[gate]\nthreshold = "fast"', "percentage"),
        ('[gate]\nbudget = "soon"', "a time such as"),
        ('[[workload]]\nid = "a/b"\npython = "a.py:f"', "letters, digits"),
        ('[[workload]]\nid = "a"', "exactly one of"),
        ('[[workload]]\nid = "a"\npython = "a.py:f"\ncommand = "x"', "exactly one of"),
        ('[[workload]]\nid = "a"\npython = "a.f"', "file.py:callable"),
        ('[[workload]]\nid = "a"\ncommand = "x"', "states metrics"),
        ('[[workload]]\nid = "a"\npython = "a.py:f"\n' * 2, "used twice: a"),
        ("[gate]\nthreshold_pct = nan", "finite"),
        ("[gate]\nmax_launches = 2", "greater than or equal to 4"),
        ("[gate]\nmax_launches = 99999999999", "less than or equal to 10000"),
        ('[gate]\nblock_on = "regression"', "gate.block_on: write a list, in "),
        ('[gate.series]\nmatch = "x"', "gate.series: there may be several: write"),
        ("gate = 3", "gate: it is a table, not a value"),
        ('[gate]\nthreshold = "3%"\nthreshold_pct = 5', "threshold or threshold_pct, not both"),
        ('[gate]\nbudget = "1h"\nbudget_s = 5', "budget or budget_s, not both"),
        ('[gate]\nbuild_limit = "30"', 'build_limit is a time such as "20min"'),
        ('[gate]\nbuild_growth = "-1%"', 'build_growth is a percentage such as "3%"'),
        ('[upstream]\ngithub = "https://github.com/a/b"', "owner/name"),
        ('[upstream]\nauthors = ["jane"]', "@login or a mail address"),
        ('[upstream]\nauthors = ["@acme/team"]', "is a team"),
        ('[upstream]\nauthors = ["@jane repo:x/y"]', "@login or a mail address"),
        ('[upstream]\nmerged = { lable = "x" }', "unknown key upstream.merged.lable"),
        ('[upstream]\nmerged = { label = " " }', "words on one line"),
        ('[workload]\nid = "w"', r"write \[\[workload\]\]"),
        ("[upstream]\npulls_days = 0", "greater than or equal to 1"),
        ('[[gate.series]]\nmatch = "a"', "state a threshold"),
        ('[[gate.series]]\nthreshold = "2%"\nthreshold_abs = 5', "not both"),
        ('[[gate.series]]\nthreshold = "2 MiB"', "percentage"),
        ('[[gate.series]]\nthreshold = "2%"\nmetrics = "x"', "unknown key gate.series.0.metrics"),
        ('[[gate.series]]\nblock_on = ["slow"]', "regression"),
        ("[[gate.series]]\nthreshold_abs = 0", "greater than 0"),
        ('[gate]\nthreshold_p99 = "lots"', "threshold_p99 is a percentage"),
    ],
)
def test_each_mistake_is_one_clear_line(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as raised:
        parsed(text)
    assert "\n" not in raised.value.message
    assert raised.value.message.startswith("ciwm.toml")
    assert raised.value.exit_code == USAGE


def test_an_unknown_key_gets_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError) as raised:
        parsed("[gate]\nmax_launchs = 8")
    assert raised.value.hint == "did you mean max_launches?"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[gate]\nthresold = 3", "did you mean threshold?"),
        ("[gate]\nbuild_limt = 3", "did you mean build_limit?"),
        ("[build]\nclases = 1", ""),  # like a key of [upstream], which is not the table in question
        ('[[workload]]\nid = "w"\ncomand = "x"', "did you mean command?"),
        ("[sync.budget]\nconflict = 1", "did you mean conflicts?"),
        ("[gate]\nremote = 1", "remote is a key of [upstream]"),
    ],
)
def test_a_suggestion_is_a_key_of_the_table_in_question(text: str, hint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parsed(text)
    assert raised.value.hint == hint


def test_a_single_value_of_a_parameter_stands_for_a_list_of_one() -> None:
    (workload,) = parsed(
        '[[workload]]\nid = "w"\npython = "a.py:f"\nparams = { n = 1000, s = ["a", "b"] }'
    ).workload
    assert workload.params == {"n": (1000,), "s": ("a", "b")}


def test_bytes_that_are_not_utf8_are_an_error_and_not_a_crash() -> None:
    with pytest.raises(ConfigError, match="not TOML"):
        parse_config(b"\xff\xfe", source="ciwm.toml")


def test_ciwm_toml_wins_over_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ciwm.gate]\nmax_launches = 8")
    assert find_config(tmp_path).gate.max_launches == 8
    (tmp_path / "ciwm.toml").write_text("[gate]\nmax_launches = 12")
    assert find_config(tmp_path).gate.max_launches == 12


def test_a_pyproject_without_our_table_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'")
    assert find_config(tmp_path) == Config()
    with pytest.raises(ConfigError, match=r"no \[tool.ciwm\] table"):
        read_config(tmp_path / "pyproject.toml")


def test_a_named_file_that_is_absent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_config(tmp_path / "absent.toml")


@pytest.mark.parametrize(
    "text",
    [
        f"[gate]\nmax_launches = {'9' * 5000}\n",
        f"a = {'[' * 20000}{']' * 20000}\n",
        '[build]\npython_path = ["a\\u0000b"]\n',
        '[[workload]]\nid = "w"\npython = "w.py:f"\nfiles = ["\\u0000"]\n',
        '[build.env]\n"a\\u0000" = "x"\n',
    ],
    ids=["long number", "nested", "python_path", "files", "key"],
)
def test_an_extreme_text_is_one_clear_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"ciwm\.toml") as raised:
        parse_config(text.encode(), "ciwm.toml")
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 300


@pytest.mark.parametrize("text", ["tool = 1\n", "[[tool]]\nciwm = 1\n", "tool = 'ciwm'\n"])
def test_a_pyproject_whose_tool_is_no_table_has_no_configuration(text: str) -> None:
    assert parse_config(text.encode(), "pyproject.toml") is None


def test_a_mistake_in_a_workload_is_told_with_its_id_where_it_has_one() -> None:
    text = '[[workload]]\nid = "decode"\npython = "a.py:f"\nphase = "sleep"\n'
    with pytest.raises(ConfigError, match=r"ciwm.toml: workload.decode.phase: "):
        parsed(text)
    with pytest.raises(ConfigError, match=r"ciwm.toml: workload.0.id: "):
        parsed(text.replace('id = "decode"', "id = 3"))
