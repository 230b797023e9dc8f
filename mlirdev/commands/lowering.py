"""Text of one stage taken to another: what `mlirdev compile` does in its child process.

graph ─► torch ─► linalg ─► dispatch ─► kernel (one each per kernel group) ─► llvm ─► ll ─► asm, obj
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlirdev.commands.child import Tell
from mlirdev.events import ComingPass
from mlirdev.graph import Graph
from mlirdev.plan import Signature
from mlirdev.target import Target

if TYPE_CHECKING:
    from mlirdev.passes.kernel_source import KernelSource
    from mlirdev.passes.pipeline import Pipeline

STAGES = ("graph", "torch", "linalg", "dispatch", "kernel", "llvm", "ll", "asm", "obj")
# A kernel between the kernel pipeline and the llvm pipeline; only a record's stage comes by there.
_LOOPS = "loops"
_ENTRY = "kernel_entry"


@dataclass(frozen=True)
class Start:
    """What is compiled: the text of a stage, by name where it has one. Of a record's stage, `rest` is what is left of
    its pipeline, and `signature` its kernel's. `graph` is what a graph's text comes from: it says which run-time sizes
    are which. `kind` steers a kernel's schedule."""

    stage: str
    text: str
    name: str = ""
    kind: str = "other"
    graph: Graph | None = None
    rest: Pipeline | None = None
    signature: Signature | None = None


@dataclass(frozen=True)
class Artifact:
    """One result: of the whole file (`name` is "module") or of one kernel."""

    name: str
    content: str | bytes


def lower(start: Start, goal: str, target: Target, tell: Tell) -> list[Artifact]:
    """The text as stage `goal`; several Artifacts where it is formed into kernels. Raises PassError, LoweringError."""
    from mlirdev.jit import resolve_target

    target, whole = resolve_target(target), start.name or "module"
    stage, text = _finished(start, target, tell) if start.rest else (start.stage, start.text)
    while stage in _FRONT and stage != goal:
        stage, text = _FRONT[stage](text, start, goal, target, tell)
    if stage == goal and stage != "ll":
        return [Artifact(whole, text)]
    if stage in ("dispatch", "kernel"):
        kernels = _kernels(stage, text, start, target)
        return [Artifact(start.name or of.name, _lowered(of, goal, target, tell)) for of in kernels]
    if stage == "asm":
        from mlirdev.jit.assemble import assemble

        # LLVM ends the process where it can't read the text.
        tell.begin("asm", (ComingPass("pass", "assemble"),), (), str)
        return [Artifact(whole, assemble(text, target))]
    return [Artifact(whole, _from_llvm(stage, text, start, goal, target, tell))]


# --- whole graphs ---------------------------------------------------------------------------------


def _finished(start: Start, target: Target, tell: Tell) -> tuple[str, str]:
    """The rest of a record's stage, and the stage that its end is."""
    assert start.rest is not None
    text = _transformed(start.text, start.rest, target, tell, start.stage)
    after = {"torch": "backend", "linalg": "untidy", "kernel": _LOOPS}
    return after.get(start.stage, start.stage), text


def _imported(text: str, start: Start, goal: str, target: Target, tell: Tell) -> tuple[str, str]:
    """A recorded graph as linalg, or where that is wanted in the torch dialect."""
    from mlirdev.importer import import_graph, new_context

    assert start.graph is not None
    seen = Keep()
    module = import_graph(start.graph, new_context(), seen)
    if goal == "torch":
        return "torch", seen.texts["torch/import"]
    return "linalg", str(module.operation.get_asm(enable_debug_info=goal != "linalg"))


def _from_torch(text: str, start: Start, goal: str, target: Target, tell: Tell) -> tuple[str, str]:
    """From any torch dialect to what converts to linalg."""
    from mlirdev.importer import to_torch_backend

    return "backend", _transformed(text, to_torch_backend(), target, tell, "torch")


def _from_backend(text: str, start: Start, goal: str, target: Target, tell: Tell) -> tuple[str, str]:
    from mlirdev.importer import to_linalg

    return "untidy", _transformed(text, to_linalg(), target, tell, "linalg")


def _tidied(text: str, start: Start, goal: str, target: Target, tell: Tell) -> tuple[str, str]:
    """Run-time sizes are computed from the graph's."""
    from mlirdev.passes.texts import changed_text

    graph = start.graph
    if graph is None or not graph.syms:
        return "linalg", text
    from mlirdev.importer import tidy

    return "linalg", changed_text(text, lambda module: tidy(module, graph))


def _from_linalg(text: str, start: Start, goal: str, target: Target, tell: Tell) -> tuple[str, str]:
    return "dispatch", _transformed(text, target.pipeline("graph"), target, tell, "dispatch")


_FRONT: dict[str, Callable[[str, Start, str, Target, Tell], tuple[str, str]]] = {
    "graph": _imported,
    "torch": _from_torch,
    "backend": _from_backend,
    "untidy": _tidied,
    "linalg": _from_linalg,
}


def _transformed(text: str, pipeline: str | Pipeline, target: Target, tell: Tell, stage: str) -> str:
    from mlirdev.passes.texts import Form, transform_text

    return transform_text(text, pipeline, target, tell, stage, Form(debuginfo=True))


# --- kernels --------------------------------------------------------------------------------------


def _kernels(stage: str, text: str, start: Start, target: Target) -> tuple[KernelSource, ...]:
    from mlirdev.passes.texts import kernel_of_text, kernels_of_text

    return (kernel_of_text(text, start.kind),) if stage == "kernel" else kernels_of_text(text, target, start.graph)


def _lowered(kernel: KernelSource, goal: str, target: Target, tell: Tell) -> str | bytes:
    """One kernel taken to the goal; callable through the entry point where its signature is whole."""
    from mlirdev.passes.lower import lower_kernel, to_llvm_ir

    if goal == "kernel":
        return kernel.text
    lowered = lower_kernel(kernel, target, tell)
    if goal == "llvm":
        return str(lowered.module.operation.get_asm(enable_debug_info=True))
    signature = lowered.signature if _is_whole(kernel.signature) else None
    return _from_llvm_ir(to_llvm_ir(lowered.module), signature, goal, target)


def _is_whole(signature: Signature) -> bool:
    """Whether the signature says where every run-time size is (a kernel read from a file may not say)."""
    buffers = [*signature.params, *signature.results]
    runtime = sum(size is None for buffer in buffers for size in getattr(buffer, "shape", ()))
    return runtime == len(signature.dims)


def _from_llvm(stage: str, text: str, start: Start, goal: str, target: Target, tell: Tell) -> str | bytes:
    """From loops, LLVM's dialect or LLVM IR."""
    from mlirdev.passes.texts import llvm_ir_of_text, signature_of_lowered

    if stage == "ll":
        return _emitted(text, goal, target)
    if stage == _LOOPS:
        text = _transformed(text, target.pipeline("llvm"), target, tell, "llvm")
    if goal == "llvm":
        return text
    signature = None
    if start.signature is not None and _is_whole(start.signature):
        signature = signature_of_lowered(text, start.signature)
    return _from_llvm_ir(llvm_ir_of_text(text), signature, goal, target)


def _from_llvm_ir(text: str, signature: Signature | None, goal: str, target: Target) -> str | bytes:
    """From MLIR's LLVM IR, with the entry point where there is a signature."""
    from mlirdev.jit.emit import accepted_text, emit_object
    from mlirdev.jit.legalize import legalize
    from mlirdev.jit.maths import use_library
    from mlirdev.jit.sanitize import sanitize

    if signature is None:
        return _emitted(use_library(legalize(sanitize(text)), target), goal, target)
    if goal == "ll":
        return accepted_text(text, signature, _ENTRY, target)
    seen = Keep()
    data = emit_object(text, signature, _ENTRY, target, seen)
    return data if goal == "obj" else seen.texts["asm/codegen"]


def _emitted(text: str, goal: str, target: Target) -> str | bytes:
    """LLVM IR that LLVM takes as it is."""
    from mlirdev.jit.optimize import optimize, parse
    from mlirdev.jit.target import machine

    module = parse(text, target)
    if goal == "ll":
        return text
    optimize(module, target)
    emitted = machine(target).emit_object(module) if goal == "obj" else machine(target).emit_assembly(module)
    return bytes(emitted) if goal == "obj" else str(emitted)


class Keep:
    """An Observer that keeps every text by "stage/pass"."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def __call__(self, stage: str, pass_name: str, text: Callable[[], str], seconds: float) -> None:
        self.texts[f"{stage}/{pass_name}"] = text()
