"""`mlirdev opt`: run a pipeline on a file of MLIR, and list what passes and pipelines there are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from mlirdev.commands.child import Tell, run_in_child
from mlirdev.commands.files import read_input, write_output
from mlirdev.events import Observer, Observers
from mlirdev.options import options
from mlirdev.target import load_target


@click.command(name="opt")
@click.argument("file", type=click.Path(), required=False)
@click.option("--pipeline", help="A pipeline's name, or a YAML file.")
@click.option(
    "--pass-pipeline", help="MLIR's pipeline text, in which our passes may stand: builtin.module(a,func.func(b))."
)
@click.option("--skip", type=click.IntRange(0), default=0, help="Leave out the pipeline's first N passes.")
@click.option("--target", help="The target that the passes see: a built-in name or a YAML file.")
@click.option("-o", "output", default="-", help="The file to write; - is the standard output.")
@click.option("--mlir-print-debuginfo", is_flag=True, help="Print locations.")
@click.option("--mlir-print-ir-after-all", is_flag=True, help="Print the IR after each pass, on the standard error.")
@click.option("--mlir-print-ir-after-change", is_flag=True, help="The same, where the pass changed it.")
@click.option("--mlir-print-ir-tree-dir", help="Write a numbered file per pass into this folder.")
@click.option("--mlir-timing", is_flag=True, help="Print each pass's time, on the standard error.")
@click.option("--list", "list_", is_flag=True, help="List the passes: name, what it does, options, anchor, whose.")
@click.option("--list-pipelines", is_flag=True, help="List the built-in pipelines.")
@click.option("--dump-pipeline", metavar="NAME", help="Print a pipeline's steps, one a line.")
@click.option("--json", "as_json", is_flag=True, help="Print lists as JSON.")
def command(
    file: str | None,
    pipeline: str | None,
    pass_pipeline: str | None,
    skip: int,
    target: str | None,
    output: str,
    mlir_print_debuginfo: bool,
    mlir_print_ir_after_all: bool,
    mlir_print_ir_after_change: bool,
    mlir_print_ir_tree_dir: str | None,
    mlir_timing: bool,
    list_: bool,
    list_pipelines: bool,
    dump_pipeline: str | None,
    as_json: bool,
) -> None:
    """Run a pipeline on FILE, MLIR text (- is the standard input), and print the result."""
    if list_ or list_pipelines or dump_pipeline:
        click.echo(_listing(list_, list_pipelines, dump_pipeline, as_json))
        return
    if file is None or (pipeline is None) == (pass_pipeline is None):
        raise click.UsageError("give a FILE (or -) and either --pipeline or --pass-pipeline; --list shows the passes")
    observers: list[Observer] = []
    if mlir_print_ir_after_all or mlir_print_ir_after_change:
        observers.append(PrintAfter(only_changed=mlir_print_ir_after_change))
    if mlir_timing:
        observers.append(_print_time)
    if mlir_print_ir_tree_dir:
        from mlirdev.dump import DumpObserver

        observers.append(DumpObserver(Path(mlir_print_ir_tree_dir), Path(file).stem if file != "-" else "stdin"))
    text = read_input(file)
    chosen = pipeline or pass_pipeline or ""
    chip = target or options.target
    result = run_in_child(lambda tell: _run(text, chosen, skip, chip, mlir_print_debuginfo, [tell, *observers]))
    write_output(output, result)


def _run(text: str, chosen: str, skip: int, chip: str, locations: bool, observers: list[Observer | Tell]) -> str:
    from mlirdev.passes.pipeline import load_pipeline
    from mlirdev.passes.texts import transform_text

    pipeline = load_pipeline(chosen)
    pipeline = replace(pipeline, steps=pipeline.steps[skip:])
    return transform_text(text, pipeline, load_target(chip), Observers(*observers), locations=locations)


class PrintAfter:
    """An Observer that prints the IR after each pass, or after each that changed it."""

    def __init__(self, only_changed: bool) -> None:
        self._only_changed = only_changed
        self._last = ""

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        now = text()
        if not self._only_changed or now != self._last:
            print(f"// -----// IR Dump After {pass_name} //----- //\n{now}", file=sys.stderr)
        self._last = now


def _print_time(stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
    print(f"{seconds * 1e3:10.3f} ms  {pass_name}", file=sys.stderr)


def _listing(list_: bool, list_pipelines: bool, dump_pipeline: str | None, as_json: bool) -> str:
    from mlirdev.passes import pipeline

    if dump_pipeline:
        steps = pipeline.expand(dump_pipeline)
        return json.dumps(steps, indent=2) if as_json else "\n".join(steps)
    if list_pipelines:
        named = {name: pipeline.load_pipeline(name).help for name in pipeline.pipeline_names()}
        return json.dumps(named, indent=2) if as_json else "\n".join(f"{n:24} {text}" for n, text in named.items())
    return _list_passes(as_json)


def _list_passes(as_json: bool) -> str:
    from mlirdev.passes.upstream import all_passes

    passes = all_passes()
    if as_json:
        return json.dumps([p.as_data() for p in passes], indent=2)
    lines = []
    for p in passes:
        lines.append(f"{p.name}  [{p.anchor}, {p.whose}]\n    {p.help}")
        lines += [f"    {name}={value}" for name, value in p.options]
    return "\n".join(lines)
