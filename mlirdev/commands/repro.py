"""`mlirdev repro`: run a reproducer again, or make one that another machine can run."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlirdev.commands.failing_script import failing_part
from mlirdev.errors import OptionError
from mlirdev.options import options

if TYPE_CHECKING:
    from mlirdev.compiler.reproducer import Reproducer
    from mlirdev.explore.portable import Happened


@click.command(name="repro", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True})
@click.option("-o", "output", metavar="DIR", help="Write a reproducer to this folder.")
@click.option("--trust", is_flag=True, help="Run code that isn't mlirdev's, where the reproducer names such.")
@click.option("--target", help="The target, for what names none: a built-in name or a YAML file.")
@click.option("--pipeline", help="Use this pipeline in place of the target's, for what names none.")
@click.argument("source", type=click.Path(exists=True))
def command(output: str | None, trust: bool, target: str | None, pipeline: str | None, source: str) -> int:
    """Run SOURCE again, in fresh workers. Exit code 1 if it still fails.

    SOURCE is the folder of a reproducer; or one is made of it: a folder that MLIRDEV_DUMP wrote for a graph or a
    kernel, a file of a graph's text, or a Python script, which is run until something fails.
    """
    options.set_given(target=target, pipeline=pipeline)
    kept, is_ours = _read(Path(source))
    _check_trust(kept, trust or is_ours)
    with tempfile.TemporaryDirectory(prefix="mlirdev-repro-") as folder:
        happened = _run(kept, Path(folder))
        if output is not None:
            _write(kept, happened, Path(output))
    return 0 if happened is None else 1


def _read(path: Path) -> tuple[Reproducer, bool]:
    """The reproducer of a source, and whether it is one that was made here and now."""
    from mlirdev.compiler import reproducer
    from mlirdev.compiler.chosen import chosen_target

    if path.suffix == ".py":
        found = failing_part(path, ())
        if found is None:
            raise OptionError(f"nothing of {path} fails: its kernels are compiled, and right")
        return reproducer.load(found), True
    if path.is_dir() and reproducer.is_reproducer(path):
        for line in reproducer.versions_of(path):
            click.echo(f"another version: {line}")
        return reproducer.load(path), False
    from mlirdev.explore.subject import load_subject

    subject = load_subject(path, chosen_target())
    made = reproducer.Reproducer(
        subject.what, subject.target, subject.name, inputs=subject.inputs, scalars=subject.scalars
    )
    return made, True


def _check_trust(kept: Reproducer, trusted: bool) -> None:
    from mlirdev.compiler.reproducer import foreign_code

    foreign = foreign_code(kept.target)
    if foreign and not trusted:
        raise OptionError(
            f"it names code that isn't mlirdev's: {', '.join(foreign)}; "
            "where you trust what goes by these names on this machine, add --trust"
        )


def _run(kept: Reproducer, folder: Path) -> Happened | None:
    import mlirdev.lazy.setup  # noqa: F401  (torch, for the values that are right)
    from mlirdev.explore.portable import run_again, upstream_command

    if kept.error:
        click.echo(f"it failed with: {kept.error}")
    happened = run_again(kept, folder)
    if happened is None:
        click.echo("nothing fails now")
        return None
    click.echo(f"it fails ({happened.fails}): {happened.text}")
    if happened.last is not None:
        coming = f"pass '{happened.last.rest[0].text}'" if happened.last.rest else "what comes"
        click.echo(f"  in {coming}, {happened.last}")
        command_line = upstream_command(happened.last)
        if command_line is not None:
            click.echo(f"  for a report upstream: {command_line}")
    return happened


def _write(kept: Reproducer, happened: Happened | None, output: Path) -> None:
    """The folder, with the IR before the pass that fails."""
    from mlirdev.compiler.reproducer import foreign_code, save
    from mlirdev.explore.portable import upstream_command

    if happened is not None:
        kept = replace(kept, fails=happened.fails, error=happened.text)
    save(kept, output)
    if happened is not None and happened.last is not None:
        shutil.copy(happened.last.path, output)
        command_line = upstream_command(happened.last)
        if command_line is not None:
            (output / "upstream.sh").write_text(f"#!/bin/sh\n# Upstream's passes alone fail.\n{command_line}\n")
    click.echo(f"written to {output}; on another machine: mlirdev repro {output.name}")
    for foreign in foreign_code(kept.target):
        click.echo(f"  it needs code that isn't in it: {foreign}")
