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
        ('[upstream]\ngithub = "https://github.com/a/b"', "owner/name"),
        ('[upstream]\nauthors = ["jane"]', "@login or a mail address"),
        ('[upstream]\nauthors = ["@acme/team"]', "is a team"),
        ('[upstream]\nauthors = ["@jane repo:x/y"]', "@login or a mail address"),
        ('[upstream]\nmerged = { lable = "x" }', "unknown key upstream.merged.lable"),
        ('[upstream]\nmerged = { label = " " }', "words on one line"),
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
