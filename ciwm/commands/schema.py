"""`ciwm schema`: the JSON Schema of every record we write, and of the configuration."""

from __future__ import annotations

import json

import click

CONFIG = "Config"


@click.command()
@click.argument("record", required=False)
@click.option("--markdown", is_flag=True, help="With Config: print docs/configuration.md.")
def command(record: str | None, *, markdown: bool) -> int:
    """Print the JSON Schema of RECORD (SyncReport, Run, ...), or of all records.

    Config is the configuration, ciwm.toml.
    """
    if markdown:
        if record != CONFIG:
            raise click.UsageError("--markdown is for: ciwm schema Config")
        from ciwm.report.config_reference import config_reference  # noqa: PLC0415

        click.echo(config_reference(), nl=False)
        return 0
    schemas = _schemas(record)
    click.echo(json.dumps(schemas if record is None else schemas[record], indent=2))
    return 0


def _schemas(wanted: str | None) -> dict[str, object]:
    from ciwm.records import FILES  # noqa: PLC0415

    if wanted == CONFIG:
        from ciwm.config import Config  # noqa: PLC0415

        return {CONFIG: Config.model_json_schema()}
    schemas: dict[str, object] = {
        kind.__name__: kind.model_json_schema(mode="serialization") for kind in FILES
    }
    if wanted is not None and wanted not in schemas:
        raise click.UsageError(f"no record {wanted!r}; there are: {', '.join([*schemas, CONFIG])}")
    return schemas
