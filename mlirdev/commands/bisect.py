"""`mlirdev bisect`: the first pass after which a result is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlirdev.commands.failing_script import failing_part
from mlirdev.options import options

if TYPE_CHECKING:
    from mlirdev.explore.bisect import Verdict
    from mlirdev.explore.subject import Subject


@click.command(name="bisect", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--linear", is_flag=True, help="Run the IR after every pass, even where the whole is right, not by halving."
)
@click.option("--target", help="The target, for what names none: a built-in name or a YAML file.")
@click.option("--pipeline", help="Use this pipeline in place of the target's: a name or a YAML file.")
@click.option("-o", "output", help="The folder for the IR after each pass; by default one beside the kernel cache.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Say of each run how it went, on the standard error.")
@click.argument("subject", type=click.Path(exists=True))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    linear: bool,
    target: str | None,
    pipeline: str | None,
    output: str | None,
    as_json: bool,
    verbose: bool,
    subject: str,
    args: tuple[str, ...],
) -> int:
    """Find the first pass after which SUBJECT's result isn't PyTorch's on the CPU.

    SUBJECT is a Python script, run with its ARGS until a kernel is wrong; or a reproducer; or a folder that
    MLIRDEV_DUMP wrote for a graph or a kernel; or a file of a graph's text. Exit code 1 if a pass was found.
    """
    options.set_given(target=target, pipeline=pipeline)
    path = Path(subject)
    if path.suffix == ".py":
        found = failing_part(path, args)
        if found is None:
            click.echo(f"every kernel of {subject} is right")
            return 0
        path = found
    return _bisect(path, output, linear, as_json, verbose)


def _bisect(path: Path, output: str | None, linear: bool, as_json: bool, verbose: bool) -> int:
    import mlirdev.lazy.setup  # noqa: F401  (torch, for the values that are right)
    from mlirdev.compiler.cache import cache_folder
    from mlirdev.compiler.chosen import chosen_target
    from mlirdev.explore.bisect import bisect
    from mlirdev.explore.subject import load_subject

    subject = load_subject(path, chosen_target())
    folder = Path(output) if output else cache_folder() / "bisect"
    verdict = bisect(subject, folder, linear, lambda line: click.echo(line, err=True) if verbose else None)
    if as_json:
        click.echo(json.dumps(None if verdict is None else _as_data(verdict, subject), indent=2, default=str))
    else:
        click.echo(_described(verdict, subject, folder))
    return 0 if verdict is None else 1


def _as_data(verdict: Verdict, subject: Subject) -> dict[str, Any]:
    return {**asdict(verdict), "lines": {node: subject.lines[node] for node in verdict.nodes if node in subject.lines}}


def _described(verdict: Verdict | None, subject: Subject, folder: Path) -> str:
    if verdict is None:
        return f"{subject.name} is right as it is compiled; its IR after each pass is in {folder}"
    lines = [
        f"{verdict.name}: pass '{verdict.pass_name}' of stage '{verdict.stage}' is the first after which",
        f"  {verdict.what}",
    ]
    for node in verdict.nodes:
        op = f" {subject.graph.nodes[node].op}" if verdict.nodes else ""
        line = f"  {subject.lines[node]}" if node in subject.lines else ""
        lines.append(f"  computes n{node}{op}{line}")
    if verdict.before is not None:
        lines.append(f"  IR before: {verdict.before}")
    if verdict.after is not None:
        lines.append(f"  IR after:  {verdict.after}")
    if verdict.before is not None and verdict.after is not None:
        lines.append(f"  to see what it changed: mlirdev diff {verdict.before} {verdict.after}")
    return "\n".join(lines)
