"""Every format by name, and which one a file is in."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from ciwm.errors import UsageError
from ciwm.ingest.fields import Malformed
from ciwm.ingest.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from ciwm.config_ingest import Format
    from ciwm.ingest.measured import Reading


class Reader(Protocol):
    """What each module of a format offers; `WRITTEN_BY` names the layout that it expects."""

    WRITTEN_BY: str

    def recognises(self, source: Source) -> bool:
        """Whether the file is in this format; says yes to no other's."""
        ...

    def read(self, source: Source) -> Reading:
        """All that was measured; raises Malformed where the layout is another."""
        ...


_LAST = "samples-json"
# name -> module of this package; it is loaded when a file may be in that format
FORMATS: dict[Format, str] = {
    "pytest-benchmark": "pytest_benchmark",
    "google-benchmark": "google_benchmark",
    "asv": "asv",
    "hyperfine": "hyperfine",
    "pyperf": "pyperf",
    "criterion": "criterion",
    "go": "go_benchmark",
    "nvbench": "nvbench",
    "github-action-benchmark": "github_action_benchmark",
    "vllm-serve": "vllm_serve",
    "vllm-throughput": "vllm_throughput",
    "vllm-latency": "vllm_latency",
    "sglang": "sglang_serving",
    "aiperf": "aiperf",
    "nccl-tests": "nccl_tests",
    "torch-operator": "torch_operator",
    "samples-json": "samples_json",
}


def read_file(path: Path, name: str | None = None, part: str = "") -> Reading:
    """A file's results; its format is found out where none is named.

    Raises UsageError, in one line, for a file that is missing, empty, cut short, in no known
    format, or not laid out as its format has it.
    """
    source = Source(path, part)
    if not path.exists():
        raise UsageError(f"there is no {path}")
    format_name = name or _recognised(source)
    reader = _reader(format_name)
    try:
        reading = reader.read(source)
    except Malformed as error:
        raise UsageError(
            f"{path} cannot be read as {format_name}: {error}",
            f"expected is what {reader.WRITTEN_BY} writes; --format names another format",
        ) from error
    if not reading.measured:
        raise UsageError(
            f"{path} ({format_name}) holds no results",
            "did the tool's filter leave out everything?",
        )
    _refuse_twice(path, reading)
    return replace(reading, format=format_name)


def _refuse_twice(path: Path, reading: Reading) -> None:
    counts = Counter((one.series, one.metric) for one in reading.measured)
    twice = next((key for key, count in counts.items() if count > 1), None)
    if twice is not None:
        name = " ".join(twice).strip()
        raise UsageError(f"{path} holds {name} twice: which one is meant cannot be told")


def _reader(name: str) -> Reader:
    module = next((FORMATS[known] for known in FORMATS if known == name), None)
    if module is None:
        raise UsageError(
            f"no format {name!r}", f"there are: {', '.join((*FORMATS, 'samples-csv'))}"
        )
    return cast("Reader", import_module(f"ciwm.ingest.{module}"))


def _recognised(source: Source) -> str:
    """The one format that a file is in; raises UsageError where there is none, or more."""
    if source.looks_like_json:
        _ = source.documents  # what is cut short is told as such, not as an unknown format
    every = [name for name in FORMATS if _reader(name).recognises(source)]
    # an object of numbers alone is ciwm's own only where no tool writes just that
    found = [name for name in every if name != _LAST] or every
    if len(found) == 1:
        return found[0]
    what = f"may be {' or '.join(found)}" if found else "is in no format that ciwm knows"
    raise UsageError(
        f"{source.path} {what}", f"name the format: --format with one of {', '.join(FORMATS)}"
    )
