"""`mlirdev env`: every option, its value and where it came from."""

from __future__ import annotations

import json

import click

from mlirdev.options import option_fields, options, origin, variable
from mlirdev.report import Report, Section


@click.command(name="env")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Show every option: its value, where that came from (default, environment, program), and what it does."""
    found = [
        {
            "option": f.name,
            "variable": variable(f.name),
            "value": getattr(options, f.name),
            "from": origin(f.name),
            "help": f.metadata["help"],
        }
        for f in option_fields()
    ]
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    columns = ("variable", "value", "from", "help")
    rows = tuple(tuple(_shown(option[column]) for column in columns) for option in found)
    click.echo(str(Report((Section("Options", columns, rows),))))


def _shown(value: object) -> str:
    return '""' if value == "" else str(value).lower() if isinstance(value, bool) else str(value)
