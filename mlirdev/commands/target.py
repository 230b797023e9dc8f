"""`mlirdev target list|show|validate|schema`: the chips that can be compiled for."""

from __future__ import annotations

import json
from typing import Any

import click
import msgspec
import yaml

from mlirdev.commands.child import Tell, run_in_child
from mlirdev.errors import OptionError
from mlirdev.target import Target, json_schema, load_target, target_names

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
set_option = click.option(
    "--set", "assignments", multiple=True, metavar="KEY=VALUE", help="Set a value, as in --set memory.dram.gbps=240."
)


@click.group(name="target")
def command() -> None:
    """List targets, show one, or check a file."""


@command.command(name="list")
@as_json_option
def list_targets(as_json: bool) -> None:
    """The targets that have a name: built in, or brought by an installed package."""
    found = {name: load_target(name).help for name in target_names()}
    if as_json:
        click.echo(json.dumps([{"name": name, "help": text} for name, text in found.items()], indent=2))
        return
    width = max(map(len, found))
    click.echo("\n".join(f"{name:{width}}  {text}" for name, text in found.items()))


@command.command()
@click.argument("name")
@click.option("--resolve", is_flag=True, help="Fill in what `native` stands for on this machine.")
@set_option
@as_json_option
def show(name: str, resolve: bool, assignments: tuple[str, ...], as_json: bool) -> None:
    """Every field of target NAME, a name or a YAML file; printed as one, to be changed and used."""
    target = load_target(name, *assignments)
    if resolve:
        target = resolved(target)
    fields = msgspec.to_builtins(target)
    if as_json:
        click.echo(json.dumps({**fields, "fingerprint": target.fingerprint}, indent=2))
        return
    click.echo(f"# fingerprint {target.fingerprint}\n{_yaml(fields)}", nl=False)


@command.command()
@click.argument("names", nargs=-1, required=True)
@set_option
def validate(names: tuple[str, ...], assignments: tuple[str, ...]) -> int:
    """Check targets and the pipelines that they name: every mistake with its line. Exit code 1 if there is one."""
    wrong = 0
    for name in names:
        try:
            check(load_target(name, *assignments))
        except OptionError as error:
            wrong += 1
            click.echo(str(error), err=True)
        else:
            click.echo(f"{name}: fine")
    return min(wrong, 1)


@command.command()
def schema() -> None:
    """The JSON Schema of a target file, for editors and other tools."""
    click.echo(json.dumps(json_schema(), indent=2))


def check(target: Target) -> None:
    """Raise OptionError where LLVM doesn't know the target, or a pipeline of it is wrong: a pass that nobody has, an
    option, or an anchor that MLIR refuses."""

    def look(tell: Tell) -> None:
        from mlirdev.passes.pipeline import load_pipeline
        from mlirdev.passes.texts import check_pipeline

        resolved(target)
        for pipeline in target.pipelines.values():
            check_pipeline(load_pipeline(pipeline))

    run_in_child(look)


def resolved(target: Target) -> Target:
    """The target with `native` filled in by LLVM."""
    from mlirdev.jit import resolve_target

    return resolve_target(target)


def _yaml(fields: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(fields, sort_keys=False, width=1000)
    return text
