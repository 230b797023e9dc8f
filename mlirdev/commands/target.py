"""`mlirdev target list|show`: the chips that can be compiled for."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
import yaml

from mlirdev.target import BUILTIN, Target, load_target


@click.group(name="target")
def command() -> None:
    """List targets, or show one."""


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_targets(as_json: bool) -> None:
    """The built-in targets."""
    names = sorted(path.stem for path in BUILTIN.glob("*.yaml"))
    click.echo(json.dumps(names) if as_json else "\n".join(names))


@command.command()
@click.argument("name")
@click.option("--resolve", is_flag=True, help="Fill in what `native` stands for on this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, resolve: bool, as_json: bool) -> None:
    """Every field of target NAME, a built-in name or a YAML file; printed as one, to be changed and used."""
    target = load_target(name)
    if resolve:
        target = resolved(target)
    fields = {**asdict(target), "pipelines": dict(target.pipelines)}
    if as_json:
        click.echo(json.dumps({**fields, "fingerprint": target.fingerprint}, indent=2))
        return
    click.echo(f"# fingerprint {target.fingerprint}\n{yaml.safe_dump(fields, sort_keys=False, width=1000)}", nl=False)


def resolved(target: Target) -> Target:
    """The target with `native` filled in by LLVM."""
    from mlirdev.jit import resolve_target

    return resolve_target(target)
