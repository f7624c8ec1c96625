"""`ciwm schema`: the JSON Schema of every record we write."""

from __future__ import annotations

import json

import click


@click.command()
@click.argument("record", required=False)
def command(record: str | None) -> int:
    """Print the JSON Schema of RECORD (SyncReport, Run, ...), or of all of them."""
    from ciwm.records import FILES  # noqa: PLC0415

    schemas = {kind.__name__: kind.model_json_schema(mode="serialization") for kind in FILES}
    if record is not None and record not in schemas:
        raise click.UsageError(f"no record {record!r}; there are: {', '.join(schemas)}")
    click.echo(json.dumps(schemas if record is None else schemas[record], indent=2))
    return 0
