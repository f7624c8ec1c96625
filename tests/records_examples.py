"""Full, realistic records that every test may use; each builder takes what a test wants changed."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from ciwm.records import (
    Accelerator,
    Arm,
    Attribution,
    BuildRecord,
    BumpReport,
    Calibration,
    Environment,
    FactorialRun,
    HostTelemetry,
    Launch,
    LaunchCount,
    Plan,
    RecordFile,
    Revision,
    Run,
    Samples,
    Series,
    SeriesCalibration,
    SeriesVerdict,
    Stage,
    SyncReport,
    Telemetry,
    Trust,
    Verdict,
    WayOut,
)
from ciwm.records.closing import Closing
from ciwm.records.coverage import Coverage, SideCoverage, UncoveredLines
from ciwm.records.factorial import (
    FactorialLaunch,
    FactorialProfile,
    FactorialShare,
    Part,
    SeriesAttribution,
)
from ciwm.records.pipeline import PipelineFigures, StageFigures, WorkflowFigures
from ciwm.records.probe import ProbeFigure, Probes, Sick
from ciwm.records.ranks import (
    CollectiveSeries,
    CommunicationProfile,
    CommunicationShare,
    RankCommunication,
    RankSamples,
    ScalingGroup,
    ScalingPoint,
)
from ciwm.records.sync import (
    Additive,
    Ahead,
    Behind,
    Carried,
    CarriedCommit,
    ClassCost,
    ConflictedFile,
    Conflicts,
    Deleted,
    Downstream,
    Hunk,
    Intrusive,
    Overlap,
    Shape,
    Upstream,
)
from ciwm.records.sync_pulls import IncomingPull, OpenPull, Pulls, Share, Within
from ciwm.records.trend import Trend, TrendPoint
from ciwm.report.headline import headline
from tests.map_examples import manifest, map_diff, workload_map

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ciwm.records.bump import StageName, StageStatus
    from ciwm.records.factorial import Cell
    from ciwm.records.run import ExitReason, Side
    from ciwm.records.verdict import SeriesOutcome

WHEN = datetime(2026, 9, 14, 6, 30, tzinfo=timezone.utc)
BASE_SHA = "4f0a9c1d7be2836581fa0d9be07c6a2d15c3e8b4"
HEAD_SHA = "b81de5f3027c49aa61d8e3c07f92b5460ea17d9c"
UPSTREAM_SHA = "91c7d20e5ab4f86f3310bd58c97ea4b0d2f6613a"
MERGE_BASE = "2c6be8a04d1f97530ce84ba196d7f3e508b92cd1"
RUN_URL = "https://github.com/acme/vllm-npu/actions/runs/17234567890"
CONFLICT = """<<<<<<< downstream
        block_size = npu_block_size(config)
=======
        block_size = config.cache.block_size or DEFAULT_BLOCK
>>>>>>> upstream/main
"""


def environment(**changes: Any) -> Environment:
    """A two-card host with every field set."""
    fields: dict[str, Any] = {
        "accelerators": tuple(
            Accelerator(
                index=index,
                vendor="NVIDIA",
                name="NVIDIA H200",
                uuid=f"GPU-5a2d0f3e-0000-4000-8000-00000000000{index}",
                memory_bytes=150_754_820_096,
                driver="570.86.15",
                max_sm_clock_mhz=1980,
                max_memory_clock_mhz=3201,
                power_limit_w=700.0,
                ecc=True,
                mig=False,
                locked_sm_clock_mhz=1965,
            )
            for index in range(2)
        ),
        "topology": (
            "0: PCIe 5 x16",
            "1: PCIe 5 x16",
            "0-1: NVLink 4.0 x18 by NVSwitch, 26562 MB/s each",
        ),
        "cpu_model": "Intel(R) Xeon(R) Platinum 8480C",
        "cpu_count": 16,
        "memory_bytes": 137_438_953_472,
        "architecture": "x86_64",
        "os": "Ubuntu 24.04.2 LTS",
        "kernel": "6.8.0-55-generic",
        "container_image": "ghcr.io/acme/vllm-npu-ci@sha256:77aa00",
        "interpreter": "3.12.9",
        "torch": "2.13.0+cu130",
        "torch_build": "cu130",
        "collective_library": "NCCL 2.28.3",
        "variables": {"OMP_NUM_THREADS": "8"},
    }
    return Environment(**{**fields, **changes})


def revision(side: Side = "head") -> Revision:
    """What base and head mean on pull request 412."""
    if side == "base":
        return Revision(ref="main", sha=BASE_SHA, tree="8c" * 20)
    return Revision(ref="refs/pull/412/merge", sha=HEAD_SHA, tree="d3" * 20)


def build(side: Side = "head", **changes: Any) -> BuildRecord:
    """A build that worked; the base one came from the cache."""
    fields: dict[str, Any] = {
        "revision": revision(side),
        "key": "a4c19fd03b7e" if side == "base" else "77e0b1c52d98",
        "status": "cached" if side == "base" else "built",
        "duration_s": 0.4 if side == "base" else 312.6,
        "exit_code": 0,
        "directory": f"/cache/ciwm/builds/{side}",
        "python": f"/cache/ciwm/builds/{side}/venv/bin/python",
        "log": f"/cache/ciwm/builds/{side}/build.log",
    }
    return BuildRecord(**{**fields, **changes})


def failed_build(side: Side = "head") -> BuildRecord:
    """A build that ended in a compiler error."""
    return build(
        side,
        status="failed",
        exit_code=1,
        duration_s=188.2,
        log_tail=(
            "[41/96] Building CXX object CMakeFiles/_C.dir/csrc/cache_kernels.cpp.o",
            "csrc/cache_kernels.cpp:214:17: error: 'CacheLayout' has no member 'block_stride'",
            "  214 |   auto s = layout.block_stride;",
            "1 error generated.",
            "ninja: build stopped: subcommand failed.",
        ),
    )


def series(name: str = "decode-8b[batch=1]", metric: str = "step_time", **changes: Any) -> Series:
    """One planned series, timed in seconds, lower is better."""
    fields: dict[str, Any] = {
        "series": name,
        "metric": metric,
        "workload": name.split("[", maxsplit=1)[0],
        "unit": "s",
        "better": "lower",
        "threshold_pct": 3.0,
    }
    return Series(**{**fields, **changes})


def launch(
    number: int,
    *,
    side: Side,
    values: Sequence[float],
    exit_reason: ExitReason = "ok",
    name: str = "decode-8b[batch=1]",
) -> Launch:
    """One launch with its samples, and what its card did meanwhile."""
    return Launch(
        number=number,
        workload=name.split("[", maxsplit=1)[0],
        side=side,
        block=number // 4,
        position=number % 4,
        started_at=WHEN + timedelta(seconds=20 * number),
        duration_s=17.25,
        exit=exit_reason,
        exit_code=0 if exit_reason == "ok" else 1,
        detail="" if exit_reason == "ok" else "RuntimeError: no kernel for fp8_e5m2",
        warmup_iterations=3,
        samples=(Samples(series=name, metric="step_time", values=tuple(values)),),
        ranks=ranks(name, values) if number == 0 else (),
        cards=(0,),
        node="node-1",
        telemetry=(
            Telemetry(
                accelerator=0,
                vendor="nvidia",
                readings=172,
                sm_clock_min_mhz=1830,
                sm_clock_max_mhz=1980,
                sm_clock_busy_mhz=1965,
                sm_clock_locked_mhz=1965,
                memory_clock_min_mhz=3201,
                memory_clock_max_mhz=3201,
                temperature_max_c=71,
                power_max_w=641.5,
                utilisation_mean_pct=93.5,
                memory_max_bytes=84_000_000_000,
                throttle_reasons=("sw_power_cap",),
                foreign_pids=(4121,),
                foreign_names=("dcgm-exporter",),
                unattributed_pids=(88,),
                ecc_corrected=0,
                ecc_uncorrected=0,
                xids=(63,),
            ),
        ),
        host=HostTelemetry(
            readings=35,
            busy_mean_pct=12.5,
            busy_max_pct=40.0,
            steal_mean_pct=0.0,
            steal_max_pct=0.5,
            other_cpus=0.25,
            frequency_min_mhz=3250.0,
            frequency_max_mhz=3700.0,
            throttled_s=0.0,
            thermal_throttles=0,
        ),
        telemetry_problem="accelerator 1: GPU is lost",
        log=f"launches/{number:04d}.log",
    )


def ranks(name: str, values: Sequence[float]) -> tuple[RankSamples, ...]:
    """Two ranks of a launch, of which the second waits for the first."""
    return tuple(
        RankSamples(
            rank=rank,
            host="gpu-7",
            samples=(Samples(series=name, metric="step_time", values=each),),
        )
        for rank, each in enumerate((tuple(values), tuple(values)))
    )


def run(**changes: Any) -> Run:
    """Two blocks of one series, one launch of which failed; every optional field is set."""
    order: tuple[Side, ...] = ("base", "head", "head", "base", "head", "base", "base", "head")
    launches = tuple(
        launch(
            number,
            side=side,
            values=[
                round(0.0125 * (1.124 if side == "head" else 1.0) + 1e-5 * i, 9) for i in range(5)
            ],
            exit_reason="failed" if number == 7 else "ok",
        )
        for number, side in enumerate(order)
    )
    fields: dict[str, Any] = {
        "id": "20260914T063000Z-b81de5f3027c",
        "started_at": WHEN,
        "ended_at": WHEN + timedelta(minutes=4),
        "plan": Plan(
            seed=20260914,
            max_launches=16,
            family=(series(),),
            family_size=1,
            workloads=("decode-8b",),
            workloads_from=revision("head"),
            touched_workloads=("decode-8b",),
            collectives=(
                CollectiveSeries(
                    series="nvlink/op=all_reduce,bytes=1024,dtype=float32",
                    operation="all_reduce",
                    dtype="float32",
                    size_bytes=1024,
                    ranks=8,
                    peak_gb_s=450.0,
                    peak_source="declared: the data sheet",
                ),
            ),
            scaling=(
                ScalingGroup(
                    id="train",
                    kind="weak",
                    metric="step_time",
                    points=(
                        ScalingPoint(workload="train-1", ranks=1),
                        ScalingPoint(workload="train-8", ranks=8),
                    ),
                ),
            ),
        ),
        "base": Arm(revision=revision("base"), build=build("base"), environment=environment()),
        "head": Arm(revision=revision("head"), build=build("head"), environment=environment()),
        "launches": launches,
        "complete": True,
        "stopped_because": "every series is decided",
        "communication": (
            CommunicationProfile(
                series="train-8",
                workload="train-8",
                side="head",
                device="cuda",
                ranks=tuple(
                    RankCommunication(
                        rank=rank, steps=10, step_s=0.25, total_s=total_s, exposed_s=exposed_s
                    )
                    for rank, total_s, exposed_s in ((0, 0.075, 0.03), (1, 0.0625, 0.0125))
                ),
            ),
            CommunicationProfile(
                series="train-8", workload="train-8", side="base", problem="the budget was spent"
            ),
        ),
    }
    return Run(**{**fields, **changes})


def large_run(launches: int, samples: int, seed: int = 0) -> Run:
    """A run of many launches whose samples have the full precision a clock gives."""
    import random  # noqa: PLC0415  only this builder draws numbers

    draw = random.Random(seed)
    return run(
        id=f"large-{seed}",
        launches=tuple(
            launch(
                number,
                side="base" if number % 2 else "head",
                values=[
                    draw.lognormvariate(-4.4, 0.02) * (1 + draw.random() * 1e-3)
                    for _ in range(samples)
                ],
            )
            for number in range(launches)
        ),
    )


def conflicts(files: int = 2) -> Conflicts:
    """A trial merge with conflicts in so many files; one hunk each, a deleted file has none."""
    found = [
        ConflictedFile(
            path="vllm/v1/core/kv_cache_manager.py",
            kind="content",
            message="CONFLICT (content): Merge conflict in vllm/v1/core/kv_cache_manager.py",
            hunk_count=2,
            hunks=(Hunk(start_line=88, text=CONFLICT), Hunk(start_line=240, text=CONFLICT)),
        ),
        ConflictedFile(
            path="csrc/npu/attention.cpp",
            kind="modify/delete",
            message="CONFLICT (modify/delete): csrc/npu/attention.cpp deleted in upstream/main",
        ),
        *(
            ConflictedFile(
                path=f"vllm/model_executor/models/model_{index:03d}.py",
                kind="content",
                hunk_count=1,
                hunks=(Hunk(start_line=10 + index, text=CONFLICT),),
            )
            for index in range(max(0, files - 2))
        ),
    ][:files]
    return Conflicts(
        clean=not found,
        count=len(found),
        hunks=sum(len(file.hunks) for file in found),
        files=tuple(found),
    )


def sync(**changes: Any) -> SyncReport:
    """A fork 212 commits behind, with two conflicting files."""
    fields: dict[str, Any] = {
        "generated_at": WHEN,
        "repository": "acme/vllm-npu",
        "upstream": Upstream(
            ref="upstream/main", sha=UPSTREAM_SHA, committed_at=WHEN - timedelta(hours=3)
        ),
        "downstream": Downstream(ref="main", sha=BASE_SHA, committed_at=WHEN - timedelta(hours=20)),
        "shape": Shape(style="fork", evidence=("shares 9,412 commits with upstream/main",)),
        "merge_base": MERGE_BASE,
        "merge_bases": (MERGE_BASE,),
        "behind": Behind(commits=212, first_parent=205, days=9.5),
        "ahead": Ahead(commits=61),
        "carried": Carried(
            commits=48,
            upstreamed_commits=6,
            files=73,
            binaries=1,
            lines_added=5120,
            lines_removed=388,
            additive=Additive(files=35, lines_added=4210),
            intrusive=Intrusive(files=36, lines_added=910, lines_removed=327),
            deleted=Deleted(files=2, lines_removed=61),
            classes=(
                ClassCost(name="kernels", files=21, lines_added=3310, lines_removed=12),
                ClassCost(name="tests", files=18, lines_added=940, lines_removed=31),
                ClassCost(name="other", files=34, lines_added=870, lines_removed=345),
            ),
            list=(
                CarriedCommit(
                    sha="0d" * 20,
                    author="Ines Moreau",
                    authored_at=WHEN - timedelta(days=40),
                    subject="[NPU] paged attention kernel",
                ),
                CarriedCommit(
                    sha="1e" * 20,
                    author="Tomas Hale",
                    authored_at=WHEN - timedelta(days=12),
                    subject="[NPU] block size from the device's page",
                ),
            ),
        ),
        "conflicts": conflicts(),
    }
    told = {**fields, **changes}
    whole = SyncReport(**{"overlap": None, **told})
    return whole if "overlap" in told else whole.model_copy(update={"overlap": _overlap(whole)})


def _overlap(report: SyncReport) -> Overlap:
    """Files changed on both sides: the conflicting ones and three more; none where nothing came."""
    if not report.behind.commits:
        return Overlap(files=0, paths=())
    found = report.conflicts or conflicts()
    both = ("setup.py", "vllm/platforms/__init__.py", "vllm/v1/worker/gpu_worker.py")
    paths = sorted({*both, *(file.path for file in found.files)})
    return Overlap(files=len(paths), paths=tuple(paths))


def pulls(**changes: Any) -> Pulls:
    """Our pull requests at vllm-project/vllm, and two incoming changes; every field is set."""
    within = Within(
        d7=Share(value=0.25, low=0.12, high=0.4, n=44, at_risk=31),
        d30=Share(value=0.7125, low=0.55, high=0.83, n=44, at_risk=9),
        d90=Share(value=None, low=None, high=None, n=44, at_risk=0),
    )
    fields: dict[str, Any] = {
        "repository": "vllm-project/vllm",
        "authors": ("ines-m", "tomas-h"),
        "since": WHEN - timedelta(days=365),
        "read_at": WHEN - timedelta(hours=30),
        "from_cache": True,
        "requests": 1,
        "points": 4,
        "open": 5,
        "merged": 36,
        "closed": 4,
        "drafts": 1,
        "merged_within": within,
        "closed_within": within,
        "answered_within": within,
        "median_days_to_merge": 12.5,
        "median_days_to_response": 0.75,
        "waiting": (
            OpenPull(
                number=25252,
                title="[NPU] hook for the block size | of a device",
                url="https://github.com/vllm-project/vllm/pull/25252",
                author="ines-m",
                waiting_days=41.25,
                answered=False,
            ),
            OpenPull(
                number=25345,
                title="[Core] a draft",
                url="https://github.com/vllm-project/vllm/pull/25345",
                author="tomas-h",
                waiting_days=None,
                answered=True,
            ),
        ),
        "incoming": (
            IncomingPull(
                number=25332,
                sha="7b" * 20,
                commits=2,
                subject="[Core] KV cache groups (#25332)",
                author="A Maintainer",
                merged_at=WHEN - timedelta(days=3),
                url="https://github.com/vllm-project/vllm/pull/25332",
                ours=False,
                files=("setup.py", "vllm/v1/core/kv_cache_manager.py"),
                files_count=2,
                overlap_lines=18,
                near_lines=3,
                lines_added=120,
                lines_removed=64,
            ),
            IncomingPull(
                number=None,
                sha="8c" * 20,
                commits=1,
                subject="Fix the build",
                author="Ines Moreau",
                merged_at=WHEN - timedelta(days=2),
                url=None,
                ours=True,
                files=("setup.py",),
                files_count=1,
                overlap_lines=None,
                near_lines=None,
                lines_added=None,
                lines_removed=None,
            ),
        ),
        "incoming_count": 14,
        "notes": ("our pull requests are from the cache (30.0 hours old): --offline",),
    }
    return Pulls(**{**fields, **changes})


def partial_sync() -> SyncReport:
    """A sync report of a partial clone: what could not be computed is named."""
    return sync(
        carried=None,
        overlap=None,
        conflicts=None,
        partial=True,
        missing_objects=("5f" * 20,),
        notes=("the trial merge needs 1 blob this partial clone left out",),
    )


def clean_sync() -> SyncReport:
    """A sync that merges without a conflict."""
    return sync(conflicts=conflicts(0))


def series_verdict(
    outcome: SeriesOutcome = "unchanged", name: str = "decode-8b[batch=1]", **changes: Any
) -> SeriesVerdict:
    """One series with figures that fit its outcome."""
    ratio = {
        "regressed": 1.124,
        "improved": 0.91,
        "waived": 1.05,
        "void": 1.021,
        "inconclusive": 1.018,  # its interval holds the threshold: neither proved nor excluded
    }.get(outcome, 1.003)
    ratio = changes.pop("ratio", ratio)
    spread = 0.031 if outcome in ("void", "inconclusive") else 0.012
    on_base, on_head = outcome != "new", outcome not in ("failed", "missing")
    fields: dict[str, Any] = {
        "series": name,
        "metric": "step_time",
        "unit": "s",
        "better": "lower",
        "outcome": outcome,
        "threshold_pct": 3.0,
        "launches": LaunchCount(base=8 if on_base else 0, head=8 if on_head else 0),
        "base_value": 0.0125 if on_base else None,
        "head_value": round(0.0125 * ratio, 9) if on_head else None,
        "reason": REASONS[outcome],
    }
    if on_base and on_head:
        fields |= {
            "ratio": ratio,
            "ci_low": round(ratio - spread, 4),
            "ci_high": round(ratio + spread, 4),
            "evidence": 6.9 if outcome == "regressed" else -1.2,
            "evidence_needed": 4.61,
            "launch_sd_pct": 0.8,
        }
    return SeriesVerdict(**{**fields, **changes})


REASONS: dict[SeriesOutcome, str] = {
    "failed": "head does not run: RuntimeError: no kernel for fp8_e5m2; base runs",
    "missing": "on base only, and not declared removed",
    "regressed": "slower by more than 3 %, and the evidence suffices",
    "void": "6 of 8 blocks discarded: SM clock fell below 90 % of its maximum",
    "inconclusive": "16 launches a side spent; a slowdown of 3 % is neither shown nor excluded",
    "waived": "a waiver accepts up to +8 %",
    "new": "on head only, nothing to compare with",
    "unchanged": "not slower by 3 %",
    "improved": "faster, and the evidence suffices",
}


# of the first, second, ... of an outcome: no two regressions are of one size
_RATIOS: dict[SeriesOutcome, Callable[[int], float]] = {
    "regressed": lambda place: round(1.124 - 0.007 * place, 4),
    "unchanged": lambda place: round(1.003 - 0.0013 * (place % 5), 4),
}
_WORKLOADS = ("decode-8b", "prefill-8b", "decode-70b", "prefill-70b")


def series_name(index: int) -> str:
    """The name of one of many series: ten batch sizes of each workload."""
    return f"{_WORKLOADS[index // 10 % 4]}[batch={2 ** (index % 10)}]"


def verdict(*outcomes: SeriesOutcome, **changes: Any) -> Verdict:
    """A verdict on so many series; its outcome is the worst of them."""
    names = outcomes or ("regressed", "unchanged", "improved")
    rows = tuple(
        series_verdict(
            outcome, series_name(index), ratio=_RATIOS[outcome](names[:index].count(outcome))
        )
        if outcome in _RATIOS
        else series_verdict(outcome, series_name(index))
        for index, outcome in enumerate(names)
    )
    worst = next(
        (
            value
            for value, kinds in (
                ("fail", {"failed", "missing", "regressed"}),
                ("void", {"void"}),
                ("inconclusive", {"inconclusive"}),
            )
            if kinds & set(names)
        ),
        "pass",
    )
    fields: dict[str, Any] = {
        "run": "20260914T063000Z-b81de5f3027c",
        "outcome": worst,
        "reason": f"{len(rows)} series judged",
        "alpha": 0.01,
        "family_size": len(rows),
        "interval_method": "Yuen's t on paired log differences, 20 % trimmed, 95 %",
        "series": rows,
        "problems": PROBLEMS[:1] if "regressed" in names else (),
    }
    return Verdict(**{**fields, **changes})


PROBLEMS = (
    "decode-8b: 1 of 17 head launches ended with failed (no memory left); left out of the verdict",
    (
        "prefill-8b: 6 blocks discarded, void launches: 4 of base, 8 of head (SM clock fell below "
        "90 % of its maximum); left out of the verdict"
    ),
)


def stage(name: StageName, status: StageStatus = "done", **changes: Any) -> Stage:
    """One stage of the story."""
    return Stage(**{"name": name, "status": status, "duration_s": 12.5, **changes})


def stages(**statuses: StageStatus) -> tuple[Stage, ...]:
    """All six stages; a failed one carries a message and its mend."""
    names: tuple[StageName, ...] = ("fetch", "sync", "build", "bench", "gate", "store")
    return tuple(
        stage(
            name,
            statuses.get(name, "done"),
            **MISHAPS.get(name, {}) if statuses.get(name) in ("failed", "interrupted") else {},
        )
        for name in names
    )


MISHAPS: dict[str, dict[str, str]] = {
    "fetch": {
        "message": "cannot fetch upstream: could not resolve host github.com",
        "hint": "allow the runner to reach github.com, or set [upstream] url to a mirror",
    },
    "sync": {
        "message": "no merge base between main and upstream/main",
        "hint": "this clone is shallow: run `git fetch --unshallow upstream`",
    },
    "build": {
        "message": "head did not build (exit code 1)",
        "hint": "the last lines of its log are below",
    },
    "bench": {
        "message": "stopped by SIGTERM after 6 of 32 launches",
        "hint": "continue with: ciwm bench --resume",
    },
    "gate": {"message": "the run has no complete block", "hint": "measure again"},
    "store": {
        "message": "ciwm-data was refused by the remote: protected branch hook declined",
        "hint": "let the workflow's token push to ciwm-data",
    },
}


def bump(**changes: Any) -> BumpReport:
    """Pull request 412: conflicts with upstream, both sides built, one regression."""
    fields: dict[str, Any] = {
        "generated_at": WHEN,
        "ciwm_version": "0.1.0",
        "repository": "acme/vllm-npu",
        "base": revision("base"),
        "head": revision("head"),
        "pull_request": 412,
        "check_sha": "e2" * 20,
        "run_url": RUN_URL,
        "stages": stages(),
        "sync": sync(),
        "builds": (build("base"), build("head")),
        "environment": environment(),
        "run_file": ".ciwm/runs/20260914T063000Z-b81de5f3027c.json",
        "run_summary": "every workload is decided, given up, or has had all its launches",
        "verdict": verdict(),
        "conclusion": "failure",
        "exit_code": 1,
    }
    told = {**fields, **changes}
    line = headline(
        told["stages"],
        told["builds"],
        told["sync"],
        told["verdict"],
        told.get("sync_base"),
        map_diff=told.get("map_diff"),
    )
    return BumpReport(**{"headline": line, **told})


def coverage(**changes: Any) -> Coverage:
    """Tests reach a little more than at base, and not all of the change."""
    fields: dict[str, Any] = {
        "base": SideCoverage(files=("coverage.json",), lines=10_400, covered=8_412),
        "head": SideCoverage(files=("coverage.json",), lines=10_512, covered=8_598),
        "changed": 96,
        "changed_covered": 79,
        "uncovered": (
            UncoveredLines(path="vllm_npu/attention.py", ranges=((118, 129), (144, 144))),
            UncoveredLines(path="vllm_npu/sampler.py", ranges=((31, 34),)),
        ),
    }
    return Coverage(**{**fields, **changes})


def trend(name: str = "decode-8b[batch=1]", count: int = 8) -> Trend:
    """A series that was quiet at 12.5 ms, day after day."""
    values = [0.0125 * (1 + 0.004 * ((7 * day) % 5 - 2)) for day in range(count)]
    points = tuple(
        TrendPoint(sha=f"{day:x}" * 40, at=WHEN - timedelta(days=count - day), value=value)
        for day, value in enumerate(values)
    )
    return Trend(series=name, metric="step_time", points=points)


def calibration(**changes: Any) -> Calibration:
    """A machine on which one series' threshold is detected, and the other's is not."""
    known = {"workload": "decode-8b", "unit": "s", "better": "lower", "threshold_pct": 3.0}
    same = {"metric": "step_time", "launches": 16, "iterations": 60, "alarm": False}
    quiet = SeriesCalibration(
        series="decode-8b[batch=1]",
        noise=0.008,
        between=0.007,
        within=0.004,
        detectable=1.9,
        blocked=3.4,
        outcome="unchanged",
        reason="decode-8b[batch=1] step_time P50 is not slower by 3 %",
        **known,
        **same,
    )
    loud = SeriesCalibration(
        series="decode-8b[batch=8]",
        noise=0.03,
        between=0.029,
        within=0.008,
        detectable=8.1,
        blocked=9.0,
        outcome="inconclusive",
        reason="decode-8b[batch=8] step_time P50: neither proved nor excluded",
        ways_out=(
            WayOut(way="launches", amount=64, cost=4, words="max_launches = 64"),
            WayOut(way="quieter", amount=0.33, cost=1, words="lock the card's clocks"),
        ),
        **known,
        **same,
    )
    fields: dict[str, Any] = {
        "id": "20260914T063000Z-calibration",
        "at": WHEN,
        "revision": revision("base"),
        "environment": environment(),
        "family_size": 2,
        "alpha": 0.01,
        "max_launches": 16,
        "complete": True,
        "stopped_because": "every workload is decided, given up, or has had all its launches",
        "series": (quiet, loud),
    }
    return Calibration(**{**fields, **changes})


def factorial_run() -> FactorialRun:
    """The first block of a 2x2 plan."""
    cells: tuple[Cell, ...] = ("second", "neither", "both", "first")
    return FactorialRun(
        id="20260914T063000Z-2x2",
        started_at=WHEN,
        ended_at=WHEN + timedelta(seconds=80),
        seed=7,
        factors=("upstream", "patches"),
        max_launches=16,
        family=(series(),),
        workloads=("decode-8b",),
        workloads_from=revision(),
        arms={
            cell: Arm(revision=revision(), build=build(), environment=environment())
            for cell in sorted(cells)
        },
        launches=tuple(
            FactorialLaunch(cell=cell, launch=launch(number, side="head", values=(0.0125,)))
            for number, cell in enumerate(cells)
        ),
        communication=(
            FactorialProfile(
                cell="both",
                profile=CommunicationProfile(
                    series="train-8",
                    workload="train-8",
                    side="head",
                    problem="the budget was spent",
                ),
            ),
        ),
        complete=False,
        stopped_because="the budget of 60 s is spent",
    )


def attribution() -> Attribution:
    """A slowdown that upstream brought."""
    found = SeriesAttribution(
        series="decode-8b[batch=1]",
        metric="step_time",
        workload="decode-8b",
        unit="s",
        better="lower",
        launches=16,
        values={"neither": 0.0125, "first": 0.0132, "second": 0.0125, "both": 0.0132},
        total=Part(change=1.056, low=1.049, high=1.063),
        first=Part(change=1.056, low=1.05, high=1.062),
        second=Part(change=1.0, low=0.994, high=1.006),
        interaction=Part(change=1.0, low=0.992, high=1.008),
        owner="first",
        reason="decode-8b[batch=1] step_time: the change is that of upstream",
    )
    return Attribution(
        run="20260914T063000Z-2x2",
        factors=("upstream", "patches"),
        interval_method="95 % Student interval of the trimmed mean of the contrasts",
        series=(found,),
        communication=(
            FactorialShare(
                cell="first",
                share=CommunicationShare(
                    series="train-8",
                    side="head",
                    ranks=2,
                    slowest_rank=1,
                    exposed_pct=5.0,
                    total_pct=25.0,
                    most_exposed_pct=12.0,
                    most_total_pct=30.0,
                    step_s=0.25,
                ),
            ),
        ),
        problems=("the run is not complete: the budget of 60 s is spent",),
    )


# in the order of ciwm.records.FILES
def probes() -> Probes:
    """One card's figures, one of them worse than the others of its name have."""
    return Probes(
        at=WHEN,
        environment=environment(),
        figures=(
            ProbeFigure(
                accelerator=0,
                what="matmul",
                dtype="bfloat16",
                unit="op/s",
                better="higher",
                median=7.16e14,
                values=(7.15e14, 7.16e14, 7.17e14),
            ),
            ProbeFigure(
                accelerator=0,
                what="launch",
                unit="s",
                better="lower",
                median=2.4e-6,
                values=(2.3e-6, 2.4e-6, 2.6e-6),
            ),
        ),
        unprobed=("matmul float8_e4m3fn: not supported on this device",),
        sick=(Sick(accelerator=0, figure="launch", share=0.81, than="the other NVIDIA H200 have"),),
    )


def pipeline() -> PipelineFigures:
    """One workflow with a stage, and failures."""
    return PipelineFigures(
        at=WHEN,
        repository="vllm-npu/vllm-npu",
        branch="main",
        asked=50,
        found=41,
        workflows=(
            WorkflowFigures(
                workflow="CI",
                runs=40,
                failed=3,
                left_out=1,
                p50_s=912.0,
                p90_s=1180.5,
                stages=(StageFigures(stage="build", jobs=40, failed=1, p50_s=401.0, p90_s=455.2),),
                failures={"build": 1, "test": 2},
            ),
        ),
    )


ONE_OF_EACH: tuple[RecordFile, ...] = (
    environment(),
    failed_build(),
    run(),
    sync(pulls=pulls()),
    verdict("failed", "missing", "regressed", "void", "inconclusive", "waived", "new"),
    bump(
        sync_base=clean_sync(),
        builds=(build("base"), failed_build()),
        trust=Trust(
            source="approved fork",
            repository="contributor/vllm-npu",
            approved_by="ines",
            policy="main at 4f0a9c1d7be2",
            said="pass",
            found="fail",
        ),
        coverage=coverage(),
        trends=(trend(count=2),),
        closing=(
            Closing(
                series="decode-8b[batch=8]",
                metric="step_time",
                issue="https://github.com/acme/vllm-npu/issues/12",
                expires=date(2026, 8, 31),
                why="it expired on 2026-08-31",
            ),
        ),
    ),
    calibration(),
    factorial_run(),
    attribution(),
    workload_map(),
    manifest(),
    map_diff(),
    probes(),
    pipeline(),
)
