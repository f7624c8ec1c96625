"""`ciwm merge`: the runs of a workflow matrix, joined and judged once."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ciwm.cli import run as ciwm
from ciwm.records import BumpReport, Run, read_record
from ciwm.records.bump import Stage
from ciwm.records.closing import Closing
from ciwm.records.sync_gate import SyncGate
from ciwm.report.bump_markdown import comment_markdown
from tests.map_examples import map_change, map_diff
from tests.records_examples import bump, stages, sync
from tests.runs import REVISIONS, RunBuilder, build, series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ciwm.records.opmap_diff import MapDiff

LABELS = ("h100", "a100")
SAME, SLOWER = 1.0, 1.08


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shard(label: str, ratio: float, seed: int = 20, **plan: Any) -> Run:
    """Eight blocks of one device of the matrix, in the order of its own seed."""
    told = {"family_size": 2, "shard": label, "shard_labels": LABELS, **plan}
    builder = RunBuilder(seed=seed, plan=told if label else plan).blocks(8, 1.0, ratio)
    run = builder.run()
    return run.model_copy(update={"id": f"run-{label or seed}"})


def written(folder: Path, run: Run | None, report: BumpReport | None = None) -> Path:
    """What a job of the matrix leaves."""
    (folder / "run").mkdir(parents=True)
    if run is not None:
        (folder / "run" / "run.json").write_text(run.to_json())
    if report is not None:
        (folder / "report.json").write_text(report.to_json())
    return folder


def both(tmp_path: Path, ratios: Mapping[str, float]) -> list[str]:
    runs = [shard(label, ratios[label], seed) for seed, label in enumerate(LABELS)]
    return [str(written(tmp_path / run.plan.shard, run)) for run in runs]


def of(tmp_path: Path) -> Run:
    return read_record(tmp_path / "out" / "run" / "run.json", Run)


def merge(tmp_path: Path, *arguments: str) -> int:
    return ciwm(["merge", *arguments, "--out", str(tmp_path / "out")])


def outcomes(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    capsys.readouterr()
    ciwm(["gate", str(path), "--json"])
    verdict = json.loads(capsys.readouterr().out)
    return {one["series"]: one["outcome"] for one in verdict["series"]}


def test_one_run_is_no_evidence_of_two_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shard("", SAME)
    path = written(tmp_path / "one", run)
    before = run.model_copy(update={"launches": run.launches[:6], "complete": False})
    for other in (path, written(tmp_path / "before it was resumed", before)):
        assert merge(tmp_path, f"h100={path}", f"a100={other}") == 2
        assert "is given twice, as 'h100' and as 'a100'" in capsys.readouterr().err


def test_devices_are_told_apart_and_judged_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert merge(tmp_path, *both(tmp_path, {"h100": SAME, "a100": SLOWER})) == 1
    run = of(tmp_path)
    assert run.complete
    assert run.plan.family_size == 2
    assert [one.series for one in run.plan.family] == ["decode/b1@h100", "decode/b1@a100"]
    assert len(run.launches) == 64
    assert [launch.number for launch in run.launches] == list(range(64))
    found = outcomes(tmp_path / "out" / "run", capsys)
    assert found == {"decode/b1@h100": "unchanged", "decode/b1@a100": "regressed"}


def test_the_order_of_each_shard_is_checked_by_its_own_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merge(tmp_path, *both(tmp_path, {"h100": SAME, "a100": SAME}))
    path = tmp_path / "out" / "run" / "run.json"
    assert set(outcomes(path, capsys).values()) == {"unchanged"}
    data = json.loads(path.read_text())
    data["plan"]["shards"][1]["seed"] += 1
    path.write_text(json.dumps(data))
    assert outcomes(path, capsys) == {"decode/b1@h100": "unchanged", "decode/b1@a100": "void"}


def test_a_rule_or_a_removal_for_a_workload_holds_on_every_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = both(tmp_path, {"h100": SLOWER, "a100": SLOWER})
    (tmp_path / "ciwm.toml").write_text(
        '[[gate.series]]\nmatch = "decode"\nthreshold = "20%"\n'
        '[[gate.series]]\nmatch = "decode/b1@a100"\nthreshold = "3%"\n'
    )
    assert merge(tmp_path, *runs) == 0
    assert set(outcomes(tmp_path / "out" / "run", capsys).values()) == {"unchanged"}
    (tmp_path / "ciwm.toml").write_text(
        '[[gate.series]]\nmatch = "decode/b1@h100"\nthreshold = "20%"\n'
    )
    found = outcomes(tmp_path / "out" / "run", capsys)
    assert found == {"decode/b1@h100": "unchanged", "decode/b1@a100": "regressed"}


def test_a_shard_that_was_not_given_is_named_and_its_series_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, _) = both(tmp_path, {"h100": SAME, "a100": SAME})
    assert merge(tmp_path, first) == 4
    assert "error: shard a100 is missing: no run of it was given" in capsys.readouterr().err
    run = of(tmp_path)
    assert not run.complete
    assert len(run.launches) == 32  # what was measured is kept
    found = outcomes(tmp_path / "out" / "run", capsys)
    assert found == {"decode/b1@h100": "unchanged", "decode/b1@a100": "missing"}


def test_a_shard_that_cannot_be_read_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (first, second) = both(tmp_path, {"h100": SAME, "a100": SAME})
    file = Path(second) / "run" / "run.json"
    file.write_text(file.read_text()[:1000])
    assert merge(tmp_path, first, f"a100={second}") == 4
    told = capsys.readouterr().err
    assert "error: shard a100 is missing: " in told
    assert "is not JSON" in told
    assert outcomes(tmp_path / "out" / "run", capsys)["decode/b1@a100"] == "missing"


def test_a_shard_whose_run_planned_nothing_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path / "h100", shard("h100", SAME))
    empty = shard("a100", SLOWER, family=())
    assert merge(tmp_path, str(other), str(written(tmp_path / "a100", empty))) == 4
    assert "shard a100 is missing: its run planned no series" in capsys.readouterr().err
    assert outcomes(tmp_path / "out" / "run", capsys)["decode/b1@a100"] == "missing"


def test_a_device_that_drew_one_launch_order_twice_confirms_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, seeds in (("first", (1, 2)), ("second", (3, 2))):
        paths = []
        for label, seed in zip(LABELS, seeds, strict=True):
            run = shard(label, SLOWER, seed)
            run = run.model_copy(update={"id": f"{folder}-{label}"})
            paths.append(str(written(tmp_path / folder / label, run)))
        assert ciwm(["merge", *paths, "--out", str(tmp_path / f"{folder}-merged")]) == 1
    capsys.readouterr()
    again = [str(tmp_path / "second" / label) for label in LABELS]
    assert merge(tmp_path, *again, "--confirms", str(tmp_path / "first-merged")) == 2
    said = "both runs drew the same launch order in shard a100 (seed 2)"
    assert said in capsys.readouterr().err


def test_labels_that_must_be_there_can_be_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = both(tmp_path, {"h100": SAME, "a100": SAME})
    assert merge(tmp_path, *runs, "--shards", "h100,a100,mi300") == 4
    assert "shard mi300 is missing" in capsys.readouterr().err


def test_runs_of_different_workloads_need_no_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for seed, name in enumerate(("decode", "prefill")):
        builder = RunBuilder(seed=seed, family=[series(name)])
        run = builder.blocks(8, 1.0, SAME, workload=name).run()
        path = tmp_path / f"{name}.json"
        path.write_text(run.model_copy(update={"id": name}).to_json())
        paths.append(str(path))
    assert merge(tmp_path, *paths) == 0
    assert of(tmp_path).plan.family_size == 2
    assert outcomes(tmp_path / "out" / "run", capsys) == dict.fromkeys(
        ("decode", "prefill"), "unchanged"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("same", "decode/b1 step_time is in two of the runs"),
        ("revision", "head is bbbbbbbbbbbb in run-1 and cccccccccccc in run-2"),
        ("merged", "is a merged run itself"),
        ("calibration", "is not a run in which `ciwm bench BASE HEAD` compared"),
    ],
)
def test_runs_that_do_not_belong_together_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    first, second = shard("", SAME, 1), shard("", SAME, 2)
    if change == "revision":
        revision = second.head.revision.model_copy(update={"sha": "c" * 40})
        arm = second.head.model_copy(update={"revision": revision})
        second = second.model_copy(update={"head": arm})
    if change == "calibration":
        plan = second.plan.model_copy(update={"purpose": "calibrate"})
        second = second.model_copy(update={"plan": plan})
    paths = [written(tmp_path / "1", first), written(tmp_path / "2", second)]
    if change == "merged":
        merge(tmp_path, f"x={paths[0]}", f"y={paths[1]}")
        paths = [tmp_path / "out", paths[1]]
    code = ciwm(["merge", *map(str, paths), "--out", str(tmp_path / "again")])
    lines = [x for x in capsys.readouterr().err.splitlines() if x.startswith("error: ")]
    assert code == 2
    assert said in lines[-1]


@pytest.mark.parametrize(
    ("shards", "code", "said"),
    [
        (["x=nowhere", "x={run}"], 2, "shard x is given twice, and is missing once: there is no"),
        (["x=nowhere", "x=nowhere", "y={run}"], 2, "shard x is given twice, and is missing once"),
        (["{failed}", "{run}"], 4, "a shard is missing: its job measured nothing"),
    ],
)
def test_a_missing_shard_needs_a_label_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shards: list[str], code: int, said: str
) -> None:
    paths = {
        "run": written(tmp_path / "1", shard("", SAME)),
        "failed": written(tmp_path / "2", None, told("", None)),
    }
    assert merge(tmp_path, *(one.format(**paths) for one in shards)) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name runs, or the folder of all of them"),
        (["nowhere.json"], 4, "a shard is missing: there is no nowhere.json"),
        (["x=nowhere.json"], 4, "no shard has a run: x: there is no nowhere.json"),
        (["--from", "nowhere"], 4, "there is no folder nowhere"),
        (["--from", "."], 4, ". holds no shard"),
    ],
)
def test_nothing_to_merge_is_one_clear_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    (tmp_path / "file").touch()
    assert ciwm(["merge", *arguments]) == code
    assert said in capsys.readouterr().err


def told(label: str, run: Run | None, **changes: Any) -> BumpReport:
    """The report of a job whose gate is not yet the whole's."""
    given = {"sync": None, "verdict": None, "stages": stages()[2:], "conclusion": "success"}
    facts = {"builds": (build("base"), build("head")), "exit_code": 0, "run_summary": label}
    report = bump(**{**given, **facts, **REVISIONS, **changes})
    return report if run is not None else report.model_copy(update={"run_file": None})


def test_the_reports_of_the_jobs_become_one(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    for seed, (label, ratio) in enumerate((("h100", SAME), ("a100", SLOWER))):
        run = shard(label, ratio, seed)
        written(artifacts / f"shard-{label}", run, told(label, run))
    assert merge(tmp_path, "--from", str(artifacts)) == 1
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert report.verdict is not None
    assert {one.series: one.outcome for one in report.verdict.series} == {
        "decode/b1@a100": "regressed",
        "decode/b1@h100": "unchanged",
    }
    assert report.conclusion == "failure"
    assert (report.exit_code, report.pull_request) == (1, 412)
    names = [stage.name for stage in report.stages]
    assert len(names) == len(set(names))


def merged_maps(tmp_path: Path, *maps: MapDiff | None, code: int = 0, **changes: Any) -> BumpReport:
    """The report on two devices whose speed is the same, with a map of each."""
    artifacts = tmp_path / "artifacts"
    for seed, (label, found) in enumerate(zip(LABELS, maps, strict=True)):
        run = shard(label, SAME, seed)
        report = told(label, run, map_diff=found, **changes)
        written(artifacts / f"shard-{label}", run, report)
    assert merge(tmp_path, "--from", str(artifacts)) == code
    return read_record(tmp_path / "out" / "report.json", BumpReport)


def test_what_the_map_of_one_device_lost_blocks_the_whole_and_says_where(tmp_path: Path) -> None:
    gone = map_change(kind="fallback gone", sentence="aten::sort", lost=False, blocks=False)
    report = merged_maps(tmp_path, map_diff(gone), map_diff(map_change(), gone), code=1)
    assert report.map_diff is not None
    told = [change.sentence for change in report.map_diff.changes]
    assert told == ["aten::cumsum.out, 31 % of step time [a100]", "aten::sort"]
    assert report.conclusion == "failure"
    assert "1 new CPU fallback" in report.headline


def test_what_the_policy_here_does_not_block_on_is_neutral(tmp_path: Path) -> None:
    (tmp_path / "ciwm.toml").write_text("[gate]\nblock_on = ['regression']\n")
    report = merged_maps(tmp_path, map_diff(map_change()), map_diff(map_change()))
    assert report.conclusion == "neutral"


def test_a_void_map_or_a_warning_of_one_device_is_no_success(tmp_path: Path) -> None:
    fine = map_diff(map_change(lost=False, blocks=False))
    void = fine.model_copy(update={"void": "base was mapped for npu, head for xpu"})
    assert merged_maps(tmp_path / "void", fine, void).conclusion == "neutral"
    warned = merged_maps(tmp_path / "warned", fine, fine, warnings=("base's key is misspelt",))
    assert (warned.conclusion, warned.warnings) == ("neutral", ("base's key is misspelt",))
    assert merged_maps(tmp_path / "fine", fine, fine).conclusion == "success"


def test_a_map_that_could_not_be_made_on_a_device_fails_the_whole(tmp_path: Path) -> None:
    broken = Stage(name="map", status="failed", duration_s=1, message="no compiler")
    report = merged_maps(tmp_path, None, None, code=4, stages=(*stages()[2:], broken))
    assert report.conclusion == "failure"
    assert [stage.message for stage in report.stages if stage.name == "map"] == ["no compiler"]


@pytest.mark.parametrize(("code", "conclusion"), [(4, "success"), (70, "failure")])
def test_what_ended_one_job_ends_the_whole_so(tmp_path: Path, code: int, conclusion: str) -> None:
    """Records that could not be kept, or a mistake of ours: a failed stage may tell of neither."""
    runs = [shard(label, SAME, seed) for seed, label in enumerate(LABELS)]
    for run, ended in zip(runs, (0, code), strict=True):
        label = run.plan.shard
        folder = tmp_path / "artifacts" / f"shard-{label}"
        written(folder, run, told(label, run, exit_code=ended))
    assert merge(tmp_path, "--from", str(tmp_path / "artifacts")) == code
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert (report.conclusion, report.exit_code) == (conclusion, code)


def test_an_upstream_that_moved_beyond_the_budget_between_two_jobs_blocks(tmp_path: Path) -> None:
    (tmp_path / "ciwm.toml").write_text("[sync]\nblock = true\n")
    costs = {
        "a100": SyncGate(ok=True),
        "h100": SyncGate(ok=False, over=("7 conflicts, at most 6",)),
    }
    for seed, (label, gate) in enumerate(costs.items()):
        run = shard(label, SAME, seed)
        report = told(label, run, sync=sync(gate=gate))
        written(tmp_path / "artifacts" / f"shard-{label}", run, report)
    assert merge(tmp_path, "--from", str(tmp_path / "artifacts")) == 1
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert report.sync is not None
    assert report.sync.gate == costs["h100"]


def test_a_waiver_that_a_device_still_needs_is_not_closed(tmp_path: Path) -> None:
    over, healed = (
        Closing(series=name, metric="*", issue="#1", expires=date(2026, 1, 31), why="it is over")
        for name in ("over", "healed")
    )
    for seed, (label, closing) in enumerate(zip(LABELS, ((healed, over), (over,)), strict=True)):
        run = shard(label, SAME, seed)
        report = told(label, run, closing=closing)
        written(tmp_path / "artifacts" / f"shard-{label}", run, report)
    assert merge(tmp_path, "--from", str(tmp_path / "artifacts")) == 0
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert report.closing == (over,)


def test_a_device_whose_head_does_not_build_fails_alone(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    fine = shard("h100", SAME, 1)
    broken = shard("a100", SAME, 2)
    arm = broken.head.model_copy(update={"build": build("head", ok=False)})
    broken = broken.model_copy(update={"head": arm, "launches": ()})
    written(artifacts / "shard-h100", fine, told("h100", fine))
    pair = (build("base"), build("head", ok=False))
    written(artifacts / "shard-a100", broken, told("a100", broken, builds=pair))
    assert merge(tmp_path, "--from", str(artifacts)) == 1
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert report.verdict is not None
    found = {one.series: one.outcome for one in report.verdict.series}
    assert found == {"decode/b1@a100": "failed", "decode/b1@h100": "unchanged"}
    assert [one.ok for one in report.builds] == [True, False]


def test_a_job_that_left_nothing_fails_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artifacts = tmp_path / "artifacts"
    run = shard("h100", SAME)
    written(artifacts / "shard-h100", run, told("h100", run))
    (artifacts / "shard-a100").mkdir()
    assert merge(tmp_path, "--from", str(artifacts)) == 4
    assert "shard a100 is missing" in capsys.readouterr().err
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert report.conclusion == "failure"
    assert report.exit_code == 4  # as the command, whatever is missing with it
    assert any("shard a100 is missing" in stage.message for stage in report.stages)


@pytest.mark.parametrize("labels", [LABELS, LABELS[:1]])
def test_runs_that_got_lost_on_the_way_are_missing_and_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], labels: tuple[str, ...]
) -> None:
    artifacts = tmp_path / "artifacts"
    for seed, label in enumerate(LABELS):
        run = shard(label, SLOWER, seed)
        written(artifacts / f"shard-{label}", None if label in labels else run, told(label, run))
    assert merge(tmp_path, "--from", str(artifacts)) == 4
    errors = capsys.readouterr().err
    for label in labels:
        assert f"shard {label} is missing: its job measured, and " in errors
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert (report.conclusion, report.exit_code) == ("failure", 4)
    assert report.headline.lower().count("the benchmark failed") == 1


def test_a_job_that_died_after_measuring_is_named_and_no_success(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    for seed, label in enumerate(LABELS):
        run = shard(label, SAME, seed)
        report = told(label, run) if label == "h100" else None
        written(artifacts / f"shard-{label}", run, report)
    assert merge(tmp_path, "--from", str(artifacts)) == 0
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert any("shard a100 left a run and no report" in line for line in report.warnings)
    assert report.conclusion == "neutral"


@pytest.mark.parametrize("measured", [True, False])
def test_reports_of_two_revisions_are_not_merged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, measured: bool
) -> None:
    other = REVISIONS["head"].model_copy(update={"sha": "c" * 40})
    run = shard("h100", SAME) if measured else None
    paths = [
        written(tmp_path / "h100", run, told("h100", run)),
        written(tmp_path / "a100", None, told("a100", None, head=other)),
    ]
    named = [f"{path.name}={path}" for path in paths]
    assert merge(tmp_path, *named) == 2
    said = "head is bbbbbbbbbbbb in one shard and cccccccccccc in shard a100"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out" / "report.json").exists()


def test_jobs_of_a_repository_without_workloads_have_a_report_too(tmp_path: Path) -> None:
    artifacts = tmp_path / "artifacts"
    why = "no workload is declared"
    skipped = (*stages()[2:3], Stage(name="bench", status="skipped", duration_s=0, message=why))
    for label in LABELS:
        written(artifacts / f"shard-{label}", None, told(label, None, stages=skipped))
    assert merge(tmp_path, "--from", str(artifacts), "--shards", "h100,a100") == 0
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    assert report.verdict is None
    assert report.conclusion == "success"
    assert [stage.message for stage in report.stages if stage.name == "bench"] == [why]
    assert not (tmp_path / "out" / "run").exists()


def on_machine(run: Run, cpu: str) -> Run:
    environment = run.head.environment.model_copy(update={"cpu_model": cpu})
    head = run.head.model_copy(update={"environment": environment})
    return run.model_copy(update={"head": head})


@pytest.mark.parametrize(
    ("cpus", "told"),
    [
        (("EPYC", "Xeon"), ["Machine of `h100`: EPYC", "Machine of `a100`: Xeon"]),
        (("EPYC", "EPYC"), ["Machine: EPYC"]),
    ],
)
def test_each_machine_is_told_with_the_shards_that_ran_on_it(
    cpus: tuple[str, str], told: list[str], tmp_path: Path
) -> None:
    for seed, (label, cpu) in enumerate(zip(LABELS, cpus, strict=True)):
        run = on_machine(shard(label, SAME, seed), cpu)
        written(tmp_path / label, run, bump(base=run.base.revision, head=run.head.revision))
    merge(tmp_path, *(str(tmp_path / label) for label in LABELS))
    report = read_record(tmp_path / "out" / "report.json", BumpReport)
    lines = [line for line in comment_markdown(report).splitlines() if "Machine" in line]
    assert [line.removeprefix("- ").split(" (")[0] for line in lines] == told
