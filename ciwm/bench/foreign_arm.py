"""The machine that foreign samples were taken on: what a file does not say is not compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ciwm.records import Arm, Environment, Revision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ciwm.records import Accelerator, Side

NOT_STATED = "not stated"


def foreign_arm(
    side: Side,
    *,
    cpu_model: str = "",
    cpu_count: int = 0,
    accelerators: Sequence[Accelerator] = (),
) -> Arm:
    """A side of which only some facts of its machine are known."""
    environment = Environment(
        cpu_model=cpu_model or NOT_STATED,
        cpu_count=cpu_count,
        memory_bytes=0,
        architecture=NOT_STATED,
        os=NOT_STATED,
        kernel=NOT_STATED,
        accelerators=tuple(accelerators),
    )
    return Arm(revision=Revision(ref=side, sha="", tree=""), environment=environment)


def common_facts(base: Environment, head: Environment) -> tuple[Environment, Environment]:
    """Both environments with only what both of them state, so that silence is no difference."""
    changes: dict[str, object] = {}
    for name in ("cpu_model", "architecture", "os", "kernel"):
        if NOT_STATED in (getattr(base, name), getattr(head, name)):
            changes[name] = NOT_STATED
    if 0 in (base.cpu_count, head.cpu_count):
        changes["cpu_count"] = 0
    foreign = [NOT_STATED in (each.os, each.kernel) for each in (base, head)]
    silent = any(foreign) and not (base.accelerators and head.accelerators)
    if silent or foreign[0] != foreign[1]:
        changes |= {"accelerators": (), "container_image": None}
    return base.model_copy(update=changes), head.model_copy(update=changes)


def of_all(environments: Sequence[Environment]) -> Environment:
    """The environment of several files of one side; what they differ in is told of all of them."""
    first = environments[0]
    models = sorted({each.cpu_model for each in environments})
    counts = {each.cpu_count for each in environments}
    if len(models) > 1 or len(counts) > 1:
        model = " and ".join(models)
        return first.model_copy(update={"cpu_model": model, "cpu_count": max(counts)})
    return first
