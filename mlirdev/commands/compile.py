"""`mlirdev compile FILE --from STAGE --to STAGE`: take a file of IR through the stages, without the device.

torch ─► linalg ─► dispatch ─► kernel (one file per kernel) ─► llvm ─► ll ─► asm, obj
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlirdev.commands.child import Tell, run_in_child
from mlirdev.commands.files import read_input, write_output
from mlirdev.errors import OptionError
from mlirdev.options import options
from mlirdev.target import Target, load_target

if TYPE_CHECKING:
    from mlirdev.passes.kernel_source import KernelSource

STAGES = ("torch", "linalg", "dispatch", "kernel", "llvm", "ll", "asm", "obj")
SOURCES = STAGES[:6]
GOALS = STAGES[1:]
SUFFIXES = {"ll": ".ll", "asm": ".s", "obj": ".o"}


@dataclass(frozen=True)
class Artifact:
    """One result: of the whole file (`name` is "module") or of one kernel."""

    name: str
    content: str | bytes


@click.command(name="compile")
@click.argument("file", type=click.Path())
@click.option("--from", "source", type=click.Choice(SOURCES), required=True, help="What FILE holds.")
@click.option("--to", "goal", type=click.Choice(GOALS), required=True, help="What to make of it.")
@click.option("--kind", default="other", help="With --from kernel: the kind of kernel, which steers its schedule.")
@click.option("--target", help="The target: a built-in name or a YAML file.")
@click.option("-o", "output", default="-", help="A file, or a folder for several kernels; - is the standard output.")
def command(file: str, source: str, goal: str, kind: str, target: str | None, output: str) -> None:
    """Compile FILE (- is the standard input) from one stage to another.

    The stages in order: torch, linalg, dispatch (linalg after the graph pipeline), kernel (one per kernel group), llvm
    (the dialect), ll (LLVM IR), asm, obj.
    """
    if STAGES.index(goal) <= STAGES.index(source) and goal != "ll":
        raise click.UsageError(f"--to {goal} doesn't come after --from {source}; the stages are: {', '.join(STAGES)}")
    text = read_input(file)
    chip = load_target(target or options.target)
    _write(output, goal, run_in_child(lambda tell: compile_text(text, source, goal, chip, kind, tell)))


def compile_text(text: str, source: str, goal: str, target: Target, kind: str, tell: Tell) -> list[Artifact]:
    """The text of stage `source` as stage `goal`; several Artifacts where it was formed into kernels."""
    from mlirdev.importer import to_linalg
    from mlirdev.jit import resolve_target
    from mlirdev.passes.texts import kernel_of_text, kernels_of_text, transform_text

    target = resolve_target(target)
    if source == "torch":
        text, source = transform_text(text, to_linalg(), target, tell, "linalg"), "linalg"
    if source == "linalg" and goal != "linalg":
        text, source = transform_text(text, target.pipeline("graph"), target, tell, "dispatch"), "dispatch"
    if source == goal:
        return [Artifact("module", text)]
    if source == "dispatch":
        return [_lower(kernel, goal, target, tell) for kernel in kernels_of_text(text, target)]
    if source == "kernel":
        return [_lower(kernel_of_text(text, kind), goal, target, tell)]
    return [Artifact("module", _from_llvm(text, source, goal, target))]


def _lower(kernel: KernelSource, goal: str, target: Target, tell: Tell) -> Artifact:
    """One kernel taken to the goal; callable through the entry point where its signature is whole."""
    from mlirdev.jit.emit import emit_object
    from mlirdev.passes.lower import lower_kernel, to_llvm_ir

    name = f"{kernel.kind}-{kernel.key[:12]}"
    if goal == "kernel":
        return Artifact(name, kernel.text)
    lowered = lower_kernel(kernel, target, tell)
    if goal == "llvm":
        return Artifact(name, str(lowered.module.operation.get_asm(enable_debug_info=True)))
    if not _is_whole(kernel):
        return Artifact(name, _from_llvm_ir(_accepted(to_llvm_ir(lowered.module), target), goal, target))
    seen = _Keep()
    data = emit_object(to_llvm_ir(lowered.module), lowered.signature, "kernel_entry", target, seen)
    return Artifact(name, data if goal == "obj" else seen.texts["ll/entry" if goal == "ll" else "asm/codegen"])


def _is_whole(kernel: KernelSource) -> bool:
    """Whether the signature says where every run-time size is (a kernel read from a file doesn't say)."""
    buffers = [*kernel.signature.params, *kernel.signature.results]
    runtime = sum(size is None for buffer in buffers for size in getattr(buffer, "shape", ()))
    return runtime == len(kernel.signature.dims)


def _from_llvm(text: str, source: str, goal: str, target: Target) -> str | bytes:
    from mlirdev.passes.texts import llvm_ir_of_text

    return _from_llvm_ir(_accepted(llvm_ir_of_text(text), target) if source == "llvm" else text, goal, target)


def _accepted(text: str, target: Target) -> str:
    """LLVM IR of MLIR's LLVM as llvmlite's takes it, without the entry point."""
    from mlirdev.jit.legalize import legalize
    from mlirdev.jit.maths import use_library
    from mlirdev.jit.sanitize import sanitize
    from mlirdev.jit.target import resolve_target

    return use_library(legalize(sanitize(text)), resolve_target(target))


def _from_llvm_ir(text: str, goal: str, target: Target) -> str | bytes:
    from mlirdev.jit.optimize import optimize, parse
    from mlirdev.jit.target import machine

    module = parse(text, target)
    if goal == "ll":
        return text
    optimize(module, target)
    emitted = machine(target).emit_object(module) if goal == "obj" else machine(target).emit_assembly(module)
    return bytes(emitted) if goal == "obj" else str(emitted)


class _Keep:
    """An Observer that keeps every text by "stage/pass"."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self.texts[f"{stage}/{pass_name}"] = text()


def _write(output: str, goal: str, artifacts: list[Artifact]) -> None:
    if len(artifacts) == 1 and not Path(output).is_dir():
        write_output(output, artifacts[0].content)
        return
    suffix = SUFFIXES.get(goal, ".mlir")
    if output != "-":
        if Path(output).is_file():
            raise OptionError(f"{len(artifacts)} kernels need a folder, and {output} is a file; give another with -o")
        Path(output).mkdir(parents=True, exist_ok=True)
        for artifact in artifacts:
            write_output(str(Path(output) / (artifact.name + suffix)), artifact.content)
        return
    if goal == "obj":
        raise OptionError(f"{len(artifacts)} objects; give a folder for them with -o")
    comment = {".ll": ";", ".s": "#"}.get(suffix, "//")
    write_output("-", "\n".join(f"{comment} ----- {a.name}\n{str(a.content).rstrip()}\n" for a in artifacts))
