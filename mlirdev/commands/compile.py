"""`mlirdev compile FILE --to STAGE`: take a file of IR through the stages, without the device."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from mlirdev.commands.child import run_in_child
from mlirdev.commands.diagnostics import naming
from mlirdev.commands.files import write_output
from mlirdev.commands.lowering import STAGES, Start, lower
from mlirdev.commands.stages import Input, Stage, read_text
from mlirdev.errors import OptionError
from mlirdev.graph import Graph
from mlirdev.options import options
from mlirdev.target import load_target

SOURCES = STAGES[:8]
GOALS = STAGES[1:]
SUFFIXES = {"ll": ".ll", "asm": ".s", "obj": ".o"}
_COMMENTS = {".ll": ";", ".s": "#"}


@dataclass(frozen=True)
class Output:
    """What came out, for one target; `name` tells it from the others, with the target's where there are several."""

    name: str
    target: str
    content: str | bytes


@click.command(name="compile")
@click.argument("file", type=click.Path())
@click.option("--from", "source", type=click.Choice(SOURCES), help="What FILE holds; a record's stage says it itself.")
@click.option("--to", "goal", type=click.Choice(GOALS), required=True, help="What to make of it.")
@click.option("--kind", help="With --from kernel: the kind of kernel, which steers its schedule.")
@click.option(
    "--graph", help="The recorded graph's text, where a graph has run-time sizes; by default that beside FILE."
)
@click.option("--target", "targets", multiple=True, help="A target, a built-in name or a YAML file; may be repeated.")
@click.option("-o", "output", default="-", help="A file, or a folder for several results; - is the standard output.")
@click.option("--json", "as_json", is_flag=True, help="Print the results, or the files written, as JSON.")
def command(
    file: str,
    source: str | None,
    goal: str,
    kind: str | None,
    graph: str | None,
    targets: tuple[str, ...],
    output: str,
    as_json: bool,
) -> None:
    """Compile FILE from one stage to another.

    The stages in order: graph (as recorded), torch, linalg, dispatch (linalg after the graph pipeline), kernel (one per
    kernel group), llvm (the dialect), ll (LLVM IR), asm, obj. FILE may be - for the standard input, or OUT:OWNER:N for
    a stage of a record, which goes on through the rest of its stage.

    \b
        mlirdev compile k.mlir --from kernel --to asm --target mine.yaml
        mlirdev compile g.mlir --from linalg --to kernel -o kernels/
        mlirdev compile OUT:row-5d:12 --to asm
        mlirdev compile k.ll --from ll --to asm --target host --target aarch64
    """
    if source is not None:
        _check_order(source, goal)
    read = read_text(file)
    start = _start(read, source, kind, graph)
    _check_order(start.stage, goal)
    outputs = list(_compiled(read.name, start, goal, targets or (options.target,)))
    files = _written(output, goal, outputs, as_json)
    if as_json:
        click.echo(json.dumps([_data(of, goal, files[n]) for n, of in enumerate(outputs)], indent=2))


def _check_order(source: str, goal: str) -> None:
    # LLVM IR is made of LLVM IR where it is to be checked, for a target.
    if STAGES.index(goal) <= STAGES.index(source) and (source, goal) != ("ll", "ll"):
        raise click.UsageError(f"--to {goal} doesn't come after {source}; the stages are: {', '.join(STAGES)}")


def _start(read: Input, source: str | None, kind: str | None, graph: str | None) -> Start:
    """What to compile, by the command line or by the record."""
    if read.stage is not None and source is None:
        return _of_record(read.stage, kind)
    if source is None:
        raise click.UsageError(f"say with --from what {read.name} holds: {', '.join(SOURCES)}")
    return Start(source, read.text, kind=kind or "other", graph=_graph(read, source, graph))


def _of_record(stage: Stage, kind: str | None) -> Start:
    from mlirdev.passes.pipeline import load_pipeline
    from mlirdev.passes.texts import kernel_of_text

    step, record = stage.step, stage.record
    if step.stage == "plan":
        raise OptionError(f"pass {step.number} of {stage.owner} is its plan, which isn't IR; take an earlier one")
    # What has no pipeline is done by hand: recording, import, LLVM's own.
    rest = load_pipeline(str(stage.pipeline)).after(step.index) if stage.pipeline.exists() else None
    first = record.passes[stage.owner][0]
    if stage.owner.startswith("kernels/"):
        kernel = record.kernels.get(stage.name)
        kind = kind or (kernel.type if kernel else "other")
        # The first stage is compiled as any kernel is.
        whole = step.stage == "kernel" and step.index == 0
        signature = None if whole else kernel_of_text(record.text(first)).signature
        return Start(step.stage, stage.text, stage.name, kind, rest=None if whole else rest, signature=signature)
    return Start(step.stage, stage.text, graph=_parsed(record.text(first), f"{stage.owner}/{first.file}"), rest=rest)


def _graph(read: Input, source: str, given: str | None) -> Graph | None:
    """The graph that a file comes from: the one given, else a dump's, beside it."""
    if source == "graph":
        return _parsed(read.text, read.name)
    if source not in ("torch", "linalg", "dispatch"):
        return None
    beside = sorted(Path(read.name).parent.glob("000-graph-recorded.txt")) if read.name != "-" else []
    path = Path(given) if given else beside[0] if beside else None
    return _parsed(read_text(str(path)).text, str(path)) if path else None


def _parsed(text: str, name: str) -> Graph:
    from mlirdev.graph_text import parse_graph

    return parse_graph(text, name)


def _compiled(name: str, start: Start, goal: str, targets: Sequence[str]) -> Iterator[Output]:
    for target in targets:
        chip = load_target(target)
        with naming(name):
            artifacts = run_in_child(partial(lower, start, goal, chip))
        for artifact in artifacts:
            full = f"{artifact.name}.{chip.name}" if len(targets) > 1 else artifact.name
            yield Output(full, chip.name, artifact.content)


def _written(output: str, goal: str, outputs: Sequence[Output], as_json: bool) -> list[str]:
    """Write what came out; the files, "" for the standard output, to which JSON goes by itself."""
    if output == "-":
        if not as_json:
            _print(goal, outputs)
        return [""] * len(outputs)
    folder = Path(output)
    if len(outputs) == 1 and not folder.is_dir():
        write_output(output, outputs[0].content)
        return [output]
    if folder.is_file():
        raise OptionError(f"{len(outputs)} results need a folder, and {output} is a file; give another with -o")
    folder.mkdir(parents=True, exist_ok=True)
    files = [str(folder / (of.name + SUFFIXES.get(goal, ".mlir"))) for of in outputs]
    for file, of in zip(files, outputs, strict=True):
        write_output(file, of.content)
    return files


def _print(goal: str, outputs: Sequence[Output]) -> None:
    if len(outputs) == 1:
        write_output("-", outputs[0].content)
        return
    if goal == "obj":
        raise OptionError(f"{len(outputs)} objects; give a folder for them with -o")
    comment = _COMMENTS.get(SUFFIXES.get(goal, ".mlir"), "//")
    write_output("-", "\n".join(f"{comment} ----- {of.name}\n{str(of.content).rstrip()}\n" for of in outputs))


def _data(of: Output, goal: str, file: str) -> dict[str, str]:
    """A result as JSON has it: the file's name, else the text, or an object's bytes in base64."""
    data = {"name": of.name, "target": of.target, "stage": goal}
    if file:
        return {**data, "file": file}
    if isinstance(of.content, bytes):
        return {**data, "base64": base64.b64encode(of.content).decode()}
    return {**data, "text": of.content}
