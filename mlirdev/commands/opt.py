"""`mlirdev opt`: run passes on MLIR text, and list what passes and pipelines there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mlirdev.commands import listings
from mlirdev.commands.child import Tell, run_in_child
from mlirdev.commands.diagnostics import naming
from mlirdev.commands.files import write_output
from mlirdev.commands.mlir_flags import MlirFlags, flags_of, mlir_flags
from mlirdev.commands.pass_flags import META, WithPassFlags, pipeline_text
from mlirdev.commands.stages import Input, read_text
from mlirdev.commands.watching import Collect, PassResult, PrintIR, timing_report
from mlirdev.errors import OptionError
from mlirdev.events import Observer, Observers
from mlirdev.options import options
from mlirdev.target import load_target

if TYPE_CHECKING:
    from mlirdev.passes.pipeline import Pipeline

# Between pieces of a file, as mlir-opt has it.
_SPLIT = re.compile(r"^// -----.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Optimized:
    """The text after the passes, and what each of them did."""

    text: str
    passes: list[PassResult]


@click.command(name="opt", cls=WithPassFlags, options_metavar="[OPTIONS] [--PASS[=OPTIONS]]…")
@click.argument("file", type=click.Path(), required=False)
@click.option("--pipeline", help="A pipeline's name, or a YAML file.")
@click.option("--pass-pipeline", metavar="TEXT", help="MLIR's pipeline text, in which our passes may stand.")
@click.option("--skip", type=click.IntRange(0), default=0, help="Leave out the pipeline's first N passes.")
@click.option("--target", help="The target that the passes see: a built-in name or a YAML file.")
@click.option("-o", "output", default="-", help="The file to write; - is the standard output.")
@click.option("--list", "list_", is_flag=True, help="List the passes: name, what it does, options, anchor, whose.")
@click.option("--list-pipelines", is_flag=True, help="List the built-in pipelines.")
@click.option("--dump-pipeline", metavar="NAME", help="Print a pipeline in full, as a file that --pipeline takes.")
@click.option("--json", "as_json", is_flag=True, help="Print lists, or text, times and op counts, as JSON.")
@mlir_flags
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str | None,
    pipeline: str | None,
    pass_pipeline: str | None,
    skip: int,
    target: str | None,
    output: str,
    list_: bool,
    list_pipelines: bool,
    dump_pipeline: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Run passes on FILE, MLIR text, and print the result.

    FILE may be - for the standard input, or OUT:OWNER:N for a stage of a record; without passes, that goes on through
    the rest of its stage.

    \b
        mlirdev opt k.mlir --canonicalize --cse                  passes as flags, in their order
        mlirdev opt k.mlir --canonicalize='max-iterations=1'     with options, as MLIR writes them
        mlirdev opt k.mlir --pass-pipeline='func.func(cse)'      MLIR's text
        mlirdev opt k.mlir --pipeline kernel --target mine.yaml  a pipeline, a name or a file
        mlirdev opt --dump-pipeline kernel > mine.yaml           a pipeline to be changed
    """
    chip = target or options.target
    if list_ or list_pipelines or dump_pipeline:
        click.echo(_listing(list_pipelines, dump_pipeline, chip, as_json))
        return
    texts = [text for text in (pass_pipeline, _of_flags(ctx)) if text is not None]
    if file is None or len(texts) + (pipeline is not None) > 1:
        raise click.UsageError("give a FILE (or -) and one of: --pipeline, --pass-pipeline, passes as flags")
    source = read_text(file)
    chosen = _chosen(source, pipeline, texts, skip)
    result = _optimized(source, chosen, chip, flags_of(flags))
    write_output(output, json.dumps(asdict(result), indent=2) if as_json else result.text)


def _of_flags(ctx: click.Context) -> str | None:
    return pipeline_text(ctx.meta[META]) if ctx.meta[META] else None


def _listing(list_pipelines: bool, dump_pipeline: str | None, chip: str, as_json: bool) -> str:
    if dump_pipeline:
        return listings.pipeline(dump_pipeline, load_target(chip), as_json)
    return listings.pipelines(as_json) if list_pipelines else listings.passes(as_json)


def _chosen(source: Input, name: str | None, texts: list[str], skip: int) -> Pipeline:
    """The pipeline of this name, or text, without its first passes; without either, the rest of a record's stage."""
    from mlirdev.passes.pipeline import Pipeline, load_pipeline, opened
    from mlirdev.passes.pipeline_text import parse_pass_pipeline

    if texts:
        pipeline = Pipeline("text", parse_pass_pipeline(texts[0]))
    elif name is not None:
        pipeline = load_pipeline(name)
    elif source.stage is not None:
        pipeline, skip = load_pipeline(str(source.stage.pipeline)), source.stage.step.index + skip
    else:
        raise click.UsageError("say which passes: --pipeline, --pass-pipeline, or as flags; --list shows them")
    # As --skip counts, and the files of a dump: pass by pass.
    steps = opened(pipeline.steps) if skip else pipeline.steps
    if skip > len(steps):
        raise OptionError(f"--skip {skip}: the pipeline has {len(steps)} passes")
    return replace(pipeline, steps=steps[skip:])


def _optimized(source: Input, pipeline: Pipeline, chip: str, flags: MlirFlags) -> Optimized:
    observers: list[Observer] = [PrintIR(flags.printed, flags.print_debuginfo)] if flags.printed else []
    if flags.print_ir_tree_dir:
        from mlirdev.dump import DumpObserver

        observers.append(DumpObserver(Path(flags.print_ir_tree_dir), Path(source.file).stem.strip("-") or "stdin"))

    def work(tell: Tell) -> Optimized:
        from mlirdev.passes.texts import transform_text

        collect = Collect()
        watch = Observers(tell, collect, *observers)
        pieces = _pieces(source.text) if flags.split_input_file else [source.text]
        texts = [transform_text(piece, pipeline, load_target(chip), watch, form=flags.form) for piece in pieces]
        return Optimized("// -----\n".join(texts), collect.results)

    with naming(source.name):
        result = run_in_child(work)
    if flags.timing:
        click.echo(timing_report(result.passes), err=True)
    return result


def _pieces(text: str) -> Iterator[str]:
    """The pieces of a split file, each with as many empty lines before it as keep the numbers of its lines."""
    start = 0
    for match in _SPLIT.finditer(text):
        yield "\n" * text.count("\n", 0, start) + text[start : match.start()]
        start = match.end()
    yield "\n" * text.count("\n", 0, start) + text[start:]
