"""Whose configuration counts: the workloads are head's, and what judges them is base's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.config import FILE_NAMES, Config, find_config, read_config
from ciwm.errors import ConfigError
from ciwm.story.files_at import config_at, path_inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ciwm.config import MetricConfig, WorkloadConfig
    from ciwm.story.job import Job
    from ciwm.story.revisions import Compared

_NO_CONFIGURATION = (
    "there is no ciwm.toml: defaults for the sync cost, no build recipe, no benchmark"
)
_HEADS_POLICY = (
    "the base has no configuration: the policy is the head's, or where it has none either the work "
    "tree's, this once"
)


def configs(job: Job, compared: Compared) -> tuple[Config, Config]:
    """The head's configuration, and the base's with the policy that was asked for."""
    config, base = _read_configs(job, compared)
    if base is None and job.warnings:
        base = config
    elif base is None:
        job.say(_NO_CONFIGURATION if config == Config() else _HEADS_POLICY)
        base = config
    gate = base.gate.model_copy(update=job.asked.policy)
    judged = {"gate": gate, "workload": _judged_as(base, config.workload)}
    return config.model_copy(update=judged), base.model_copy(update={"gate": gate})


def _read_configs(job: Job, compared: Compared) -> tuple[Config, Config | None]:
    """What head and base declare; None where the base declares nothing."""
    names: Sequence[str] = FILE_NAMES
    if job.asked.config is not None:
        inside = path_inside(job.repository, job.asked.config)
        if inside is None:  # nobody can change it by a commit: it is taken as it is
            config = read_config(job.asked.config)
            return config, config
        names = (inside,)
    head, base = _heads_config(job, compared, names), _bases_config(job, compared, names)
    if job.asked.config is None:
        return head or find_config(job.repository.path), base
    if head is None and base is None:
        raise ConfigError(
            f"neither head nor base has a configuration in {names[0]}",
            "a file of the repository is read from its commits: commit it, or keep it elsewhere",
        )
    return head or Config(), base


def _heads_config(job: Job, compared: Compared, names: Sequence[str]) -> Config | None:
    try:
        return config_at(job.reading, compared.head.sha, names)
    except ConfigError as error:
        mend = f"mend head's configuration{f' ({error.hint})' if error.hint else ''}"
        raise ConfigError(f"head's {error.message}", mend) from error


def _bases_config(job: Job, compared: Compared, names: Sequence[str]) -> Config | None:
    """What base declares; one that is wrong is told, so that the change that mends it can pass."""
    try:
        return config_at(job.reading, compared.base.sha, names)
    except ConfigError as error:
        job.warnings.append(f"base's {error.message}; head's configuration counts, this once")
        job.say(f"warning: {job.warnings[-1]}")
        return None


def _judged_as(base: Config, workloads: Sequence[WorkloadConfig]) -> tuple[WorkloadConfig, ...]:
    """The head's workloads, with the direction and threshold of each metric the base knows."""
    known = {workload.id: workload.declared_metrics for workload in base.workload}
    return tuple(
        workload.model_copy(
            update={"metrics": {**workload.declared_metrics, **_both(workload, known)}}
        )
        for workload in workloads
    )


def _both(
    workload: WorkloadConfig, known: Mapping[str, Mapping[str, MetricConfig]]
) -> dict[str, MetricConfig]:
    theirs = known.get(workload.id, {})
    return {name: theirs[name] for name in workload.declared_metrics if name in theirs}
