"""`mlirdev repro FOLDER`: do again what a compile worker failed at."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="repro")
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
def command(folder: str) -> int:
    """Run the reproducer in FOLDER again, in a fresh worker. Exit code 1 if it still fails."""
    from mlirdev.compiler import reproducer

    path = Path(folder)
    before = path / "error.txt"
    if before.exists():
        click.echo(f"it failed with: {before.read_text().strip()}")
    result = reproducer.run(path)
    if isinstance(result, BaseException):
        click.echo(f"it still fails:  {type(result).__name__}: {result}")
        return 1
    click.echo(f"it is done now: {type(result).__name__}")
    return 0
