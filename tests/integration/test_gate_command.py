"""`ciwm gate` on run records and on foreign samples, as a user would call it."""

from __future__ import annotations

import csv
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from tests.runs import RunBuilder, series

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HEADER = "series,unit,better,side,block,launch,iteration,value"
ROW = "a,s,lower,base,0,0,0,1.0"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(directory: Path, builder: RunBuilder) -> Path:
    path = directory / "run.json"
    path.write_text(builder.run().to_json())
    return path


def slower() -> RunBuilder:
    return RunBuilder().blocks(6, 1.0, 1.06)


def in_doubt() -> RunBuilder:
    builder = RunBuilder()
    for number in range(8):
        builder.block(number, {"base": [0.8, 1.2], "head": [1.2, 0.8]})
    return builder


def test_json_is_the_verdict_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ciwm(["gate", str(written(tmp_path, slower())), "--json"]) == 1
    out, err = capsys.readouterr()
    verdict = json.loads(out)
    assert err == ""
    assert verdict["outcome"] == "fail"
    (found,) = verdict["series"]
    assert found["outcome"] == "regressed"
    assert found["ratio"] == pytest.approx(1.06, abs=1e-3)
    assert found["ci_low"] <= found["ratio"] <= found["ci_high"]
    assert found["evidence"] >= found["evidence_needed"] == pytest.approx(4.60517)  # ln 100
    assert found["launches"] == {"base": 12, "head": 12}
    assert {"series", "metric", "unit", "better", "threshold_pct"} <= found.keys()


def test_a_run_is_named_by_its_file_or_by_its_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, slower())
    assert ciwm(["gate", str(path), "--json"]) == ciwm(["gate", str(tmp_path), "--json"]) == 1
    first, second = capsys.readouterr().out.split("}\n{")
    assert first.count("regressed") == second.count("regressed") > 0


def test_the_text_ends_with_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ciwm(["gate", str(written(tmp_path, slower()))]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "decode/b1 step_time" in lines[1]
    assert lines[-1].startswith(
        "fail: 1 regressed, of 1 series; decode/b1 step_time is 6.0 % slower"
    )


def test_markdown_shows_the_regression_in_the_open_and_escapes_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "x|y<!-- @all\n# Hi"
    builder = RunBuilder(family=[series(evil, workload="w"), series("calm", workload="w")])
    for number in range(6):
        values = {
            "base": [{evil: 1.0, "calm": 1.0}] * 2,
            "head": [{evil: 1.1, "calm": 1.0}] * 2,
        }
        builder.block(number, values, workload="w")
    assert ciwm(["gate", str(written(tmp_path, builder)), "--markdown"]) == 1
    opened, folded = capsys.readouterr().out.split("<details>", 1)
    assert "regressed" in opened
    assert "calm" in folded
    assert "<!--" not in opened + folded
    assert "@all" not in opened + folded
    assert "\n# Hi" not in opened + folded


def test_terminal_control_characters_in_names_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = RunBuilder(family=[series("a\x1b[2Jb[red]c")]).blocks(
        2, 1.0, 1.0, workload="a\x1b[2Jb[red]c"
    )
    assert ciwm(["gate", str(written(tmp_path, builder))]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[red]" in out


@pytest.mark.parametrize(
    ("options", "code"),
    [([], 0), (["--on-inconclusive", "warn"], 0), (["--on-inconclusive", "fail"], 3)],
)
def test_doubt_fails_only_when_told_to(tmp_path: Path, options: list[str], code: int) -> None:
    assert ciwm(["gate", str(written(tmp_path, in_doubt())), *options]) == code


def test_the_directorys_configuration_counts_and_an_option_overrules_it(tmp_path: Path) -> None:
    (tmp_path / "ciwm.toml").write_text('[gate]\non_inconclusive = "fail"\n')
    path = str(written(tmp_path, in_doubt()))
    assert ciwm(["gate", path]) == 3
    assert ciwm(["gate", path, "--on-inconclusive", "warn"]) == 0
    (tmp_path / "other.toml").write_text("[gate]\nfamily_alpha = 0.05\n")
    assert ciwm(["gate", path, "--config", str(tmp_path / "other.toml")]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one of RUN, --samples FILE"),
        (["run.json", "--samples", "s.csv"], "name one of RUN, --samples FILE"),
        (["nowhere"], "there is no nowhere"),
        (["."], "holds no run.json"),
        (["empty.json"], "is not JSON"),
        (["list.json"], "holds no JSON object"),
        (["newer.json"], "newer ciwm"),
        (["nan.json"], "NaN is not allowed"),
        (["--json", "--markdown", "run.json"], "exclude each other"),
        (["--samples", "nowhere.csv"], "cannot read"),
        (["--base", "a.json"], "go together"),
        (["--base", "a.json", "--head", "b.json", "run.json"], "name one of"),
        (["run.json", "--trust-separate"], "is for --base"),
        (["--base", "nowhere", "--head", "nowhere"], "there is no nowhere"),
    ],
)
def test_a_wrong_call_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    for name, text in {
        "empty.json": "",
        "list.json": "[]",
        "newer.json": '{"schema_version": 99}',
        "nan.json": '{"schema_version": NaN}',
    }.items():
        (tmp_path / name).write_text(text)
    assert ciwm(["gate", *arguments]) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(error) == 1
    assert said in error[0]


def sampled(rows: Iterable[tuple[Any, ...]], path: Path) -> list[str]:
    with path.open("w", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(HEADER.split(","))
        writer.writerows(rows)
    return ["gate", "--samples", str(path), "--json"]


def rows(
    name: str, head: float, *, blocks: int = 6, unit: str = "ms", better: str = "lower"
) -> list[tuple[Any, ...]]:
    rng = random.Random(name)
    return [
        (name, unit, better, side, block, launch, iteration, rng.gauss(10, 0.02) * factor)
        for block in range(blocks)
        for side, factor in (("base", 1.0), ("head", head))
        for launch in range(2)
        for iteration in range(5)
    ]


def judged(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    ciwm(arguments)
    verdict: dict[str, Any] = json.loads(capsys.readouterr().out)
    return verdict


def test_samples_of_another_tool_are_judged_series_by_series(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = [
        *rows("same", 1.0),
        *rows("slow", 1.1),
        *rows("rate", 0.9, unit="tokens/s", better="higher"),
    ]
    verdict = judged(sampled(everything, tmp_path / "s.csv"), capsys)
    outcomes = {found["series"]: found["outcome"] for found in verdict["series"]}
    assert outcomes == {"same": "unchanged", "slow": "regressed", "rate": "regressed"}
    assert verdict["family_size"] == 3
    assert any("order of launches" in problem for problem in verdict["problems"])


def test_the_order_of_rows_does_not_matter_to_what_is_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = rows("slow", 1.1)
    there = judged(sampled(everything, tmp_path / "s.csv"), capsys)
    by_launch = sorted(everything, key=lambda row: (row[6], row[3]))
    back = judged(sampled(by_launch, tmp_path / "s.csv"), capsys)
    assert there["series"][0]["outcome"] == back["series"][0]["outcome"] == "regressed"
    assert there["series"][0]["ratio"] == pytest.approx(back["series"][0]["ratio"])


def test_more_launches_than_the_default_budget_all_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = judged(sampled(rows("a", 1.0, blocks=20), tmp_path / "s.csv"), capsys)
    assert verdict["series"][0]["launches"] == {"base": 40, "head": 40}


def test_a_series_on_base_only_is_missing_and_on_head_only_is_new(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = [row for row in rows("gone", 1.0) if row[3] == "base"]
    added = [row for row in rows("added", 1.0) if row[3] == "head"]
    verdict = judged(sampled([*gone, *added, *rows("same", 1.0)], tmp_path / "s.csv"), capsys)
    outcomes = {found["series"]: found["outcome"] for found in verdict["series"]}
    assert outcomes == {"gone": "missing", "added": "new", "same": "unchanged"}


def test_one_launch_is_no_block_and_decides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = [row for row in rows("a", 1.5, blocks=1) if row[5] == 0]
    verdict = judged(sampled(one, tmp_path / "s.csv"), capsys)
    assert verdict["outcome"] == "inconclusive"
    assert "no complete block of 2 base and 2 head launches" in verdict["series"][0]["reason"]


def test_launches_of_blocks_that_are_not_whole_are_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dropped = {(number, "head", 0) for number in (1, 3, 4)}  # blocks, and their first launch
    kept = [row for row in rows("a", 1.0) if (row[4], row[3], row[5]) not in dropped]
    verdict = judged(sampled([*kept, *rows("b", 1.0)], tmp_path / "s.csv"), capsys)
    (told,) = [line for line in verdict["problems"] if "left out" in line]
    assert told.endswith("of 2 base and 2 head launches: a (6 base, 3 head)")


def test_odds_of_samples_in_an_unknown_order_are_said_to_rest_on_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = judged(sampled(rows("a", 1.2), tmp_path / "s.csv"), capsys)
    reason = verdict["series"][0]["reason"]
    assert "without a change, and if the order was drawn at random, evidence this strong" in reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (HEADER, "holds no samples"),
        ("series,unit,value\na,s,1", "line 1: the header lacks better, side"),
        (f"{HEADER},note\n{ROW},x", "line 1: the header has note"),
        (f"{HEADER},value\n{ROW},1", "line 1: the header names a column twice"),
        (f"{HEADER}\n{ROW}\na,s,lower,base,0,0", "line 3: 8 cells"),
        (f"{HEADER}\n{ROW}\n{ROW},9", "line 3: 8 cells"),
        (f"{HEADER}\n{ROW}\na,s,lower,base,,0,1,1.0", "line 3: block is empty"),
        (f"{HEADER}\na,s,lower,left,0,0,0,1.0", "line 2: side is base or head, not 'left'"),
        (f"{HEADER}\na,s,best,base,0,0,0,1.0", "line 2: better is lower or higher, not 'best'"),
        (f"{HEADER}\na,s,lower,base,0,0,0,fast", "line 2: value is a number, not 'fast'"),
        (f"{HEADER}\na,s,lower,base,0,0,0,nan", "line 2: value is nan"),
        (f"{HEADER}\na,s,lower,base,0,0,0,-inf", "line 2: value is -inf"),
        (
            f"{HEADER}\n{ROW}\na,ms,lower,head,0,0,0,1.0",
            "line 3: unit of a is 'ms', but 's' on line 2",
        ),
        (
            f"{HEADER}\n{ROW}\na,s,higher,head,0,0,0,1.0",
            "line 3: better of a is 'higher', but 'lower' on line 2",
        ),
        (f"{HEADER}\n{ROW}\n{ROW}", "line 3: iteration 0 of a is there twice"),
        (
            "\n".join([HEADER, *(f"a,s,lower,base,0,{launch},0,1.0" for launch in range(3))]),
            "block 0 of a has 3 base launches",
        ),
        (f'{HEADER}\n"a,s,lower,base,0,0,0,1.0', "is not CSV"),
    ],
)
def test_a_bad_samples_file_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(text)
    assert ciwm(["gate", "--samples", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert err.startswith(f"error: {path}")
    assert sum(line.startswith("error") for line in err.splitlines()) == 1


def test_bytes_that_are_no_text_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(HEADER.encode() + b"\n\xff\xfe\x00")
    assert ciwm(["gate", "--samples", str(path)]) == 2
    assert "is not UTF-8" in capsys.readouterr().err


def test_a_file_from_a_spreadsheet_with_a_byte_order_mark_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.csv"
    arguments = sampled(rows("same", 1.0), path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert judged(arguments, capsys)["outcome"] == "pass"


def one_sided(name: str, factor: float, path: Path, **options: Any) -> str:
    """A file of base launches alone, all in one block, as a tool that knows no blocks has them."""
    everything = [
        (*row[:4], 0, f"{row[4]}.{row[5]}", *row[6:-1], row[-1] * factor)
        for row in rows(name, 1.0, **options)
        if row[3] == "base"
    ]
    sampled(everything, path)
    return str(path)


def test_files_measured_apart_give_advice_however_large_the_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [one_sided("a", factor, tmp_path / f"{factor}.csv") for factor in (1.0, 1.5)]
    verdict = judged(["gate", "--base", files[0], "--head", files[1], "--json"], capsys)
    (found,) = verdict["series"]
    assert found["outcome"] == "inconclusive"
    assert found["ratio"] == pytest.approx(1.5, abs=0.01)
    assert found["reason"].startswith("advice only: a value P50: +50.0 %")
    assert "apart" in found["reason"]


def test_files_measured_apart_decide_when_the_user_takes_the_risk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [one_sided("a", factor, tmp_path / f"{factor}.csv") for factor in (1.0, 1.5)]
    arguments = ["gate", "--base", files[0], "--head", files[1], "--trust-separate", "--json"]
    verdict = judged(arguments, capsys)
    assert verdict["series"][0]["outcome"] == "regressed"
    assert any("the bound on false alarms does not hold" in line for line in verdict["problems"])
    reasons = [one["reason"] for one in verdict["series"]]
    assert all("on trust and is no proof: the files were measured apart" in one for one in reasons)
    assert not any("less than once" in one for one in reasons)


def test_of_two_runs_measured_apart_the_heads_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for name, head in (("old", 2.0), ("new", 2.2)):
        path = tmp_path / f"{name}.json"
        path.write_text(RunBuilder().blocks(4, 1.0, head).run().to_json())
        paths.append(str(path))
    verdict = judged(["gate", "--base", paths[0], "--head", paths[1], "--json"], capsys)
    (found,) = verdict["series"]
    assert found["ratio"] == pytest.approx(1.1, abs=1e-3)
    assert found["outcome"] == "inconclusive"


def test_series_of_files_measured_apart_that_do_not_match_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = one_sided("a", 1.0, tmp_path / "a.csv"), one_sided("b", 1.0, tmp_path / "b.csv")
    verdict = judged(["gate", "--base", old, "--head", new, "--json"], capsys)
    outcomes = {found["series"]: found["outcome"] for found in verdict["series"]}
    assert outcomes == {"a": "missing", "b": "new"}


def test_units_that_differ_between_files_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = one_sided("a", 1.0, tmp_path / "a.csv", unit="ms")
    new = one_sided("a", 1.0, tmp_path / "b.csv", unit="us")
    assert ciwm(["gate", "--base", old, "--head", new]) == 2
    assert "unit of a value is 'ms' in a.csv and 'us' in b.csv" in capsys.readouterr().err


def test_help_names_every_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    assert ciwm(["gate", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for word in ("regressed", "failed", "missing", "void", "inconclusive", "unchanged"):
        assert word in out


def test_a_second_run_confirms_what_waits_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ciwm.toml").write_text("[gate]\nconfirm = true\n")
    first = str(written(tmp_path, slower()))
    (tmp_path / "again").mkdir()
    other = RunBuilder(seed=21).blocks(6, 1.0, 1.06).run().model_copy(update={"id": "r2"})
    (tmp_path / "again" / "run.json").write_text(other.to_json())
    assert ciwm(["gate", first]) == 0
    assert "needs confirmation: decode/b1" in capsys.readouterr().out
    assert ciwm(["gate", first, "--confirm", str(tmp_path / "again")]) == 1
    assert "confirmed: the second run saw +6.0 %" in capsys.readouterr().out
    assert ciwm(["gate", first, "--confirm", first]) == 2
    assert "a run cannot confirm itself" in capsys.readouterr().err


def test_a_confirmation_of_samples_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = sampled(rows("a", 1.0), tmp_path / "s.csv")
    assert ciwm([*arguments, "--confirm", "r.json"]) == 2
    assert "--confirm RUN2 is for a RUN" in capsys.readouterr().err


def test_a_waiver_beside_the_configuration_lets_a_regression_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path, slower()))
    (tmp_path / "ciwm-waivers.toml").write_text(
        '[[waiver]]\nseries = "decode"\nceiling = "7%"\nreason = "NaN checks"\n'
        'author = "@jane"\nissue = "#12"\nexpires = 9999-12-31\n'
    )
    assert ciwm(["gate", path]) == 0
    out = capsys.readouterr().out
    assert "waived: waived up to 7 % until 9999-12-31 by @jane (NaN checks; #12)" in out
    assert ciwm(["gate", path, "--markdown"]) == 0
    assert "@jane" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (1e-300, 1e300),
        (5e-324, 1.0),
        ([1.7e308, -1.7e308], [1.7e308, -1.7e308]),
        ([1.7e308] * 3, [-1.7e308] * 3),
        ([1.0] * 99 + [1e308], [1.0] * 99 + [5e-324]),
        ([1.0] * 99 + [0.0], [1.0] * 99 + [0.0]),
    ],
)
@pytest.mark.parametrize("fields", [{}, {"better": "higher"}, {"threshold_abs": 1.0}])
@pytest.mark.parametrize("unit", ["s", "count"])
def test_numbers_at_the_end_of_what_a_float_holds_are_judged_or_void(
    tmp_path: Path, base: Any, head: Any, fields: dict[str, Any], unit: str
) -> None:
    builder = RunBuilder(family=[series(unit=unit, **fields)])
    for number in range(8):
        builder.block(number, {"base": [base, base], "head": [head, head]})
    path = written(tmp_path, builder)

    for way in ([], ["--json"], ["--markdown"]):
        assert ciwm(["gate", str(path), *way]) in (0, 1)


@pytest.mark.parametrize("name", ["family_size", "max_launches"])
def test_a_plan_of_an_absurd_size_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = written(tmp_path, slower())
    data = json.loads(path.read_text())
    data["plan"][name] = 10**400
    path.write_text(json.dumps(data))

    assert ciwm(["gate", str(path)]) == 2
    assert f"plan.{name}" in capsys.readouterr().err.splitlines()[0]


def test_a_threshold_too_small_to_be_squared_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = RunBuilder(family=[series(threshold_abs=1e-200)]).blocks(4, 1.0, 1.0)

    assert ciwm(["gate", str(written(tmp_path, builder))]) == 2
    assert "the plan cannot be judged" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1_0", "\N{ARABIC-INDIC DIGIT ONE}", "1\N{NO-BREAK SPACE}0"])
def test_a_csv_value_is_written_in_ascii_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"{HEADER}\n{ROW.rpartition(',')[0]},{value}\n", encoding="utf-8")

    assert ciwm(["gate", "--samples", str(path)]) == 2
    assert "line 2: value is a number, not" in capsys.readouterr().err
