"""IR of any stage lowered to LLVM IR as plainly as can be: what is left of the pipeline `reference`.

    IR after some pass ─ the reference's passes that haven't run ─► LLVM dialect ─► LLVM IR text

A pass of the reference that the IR has behind it is left out, so IR on tensors, on buffers, of loops or vectors, and in
the LLVM dialect are all taken on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from torch_mlir import ir

from mlirdev.dump import bare_name
from mlirdev.passes.lower import kernel_context, parse, to_llvm_ir
from mlirdev.passes.pipeline import Pipeline, load_pipeline, opened
from mlirdev.passes.runner import run_pipeline
from mlirdev.plan import THREAD_WORKSPACE_BYTES, WORKSPACE_BYTES
from mlirdev.target import Target

REFERENCE = "reference"
_MAIN = "main"


@dataclass(frozen=True, slots=True)
class Plain:
    """LLVM IR text with @kernel, and the bytes of scratch memory that it wants, in all and per thread."""

    text: str
    workspace: int
    thread_workspace: int


def lower_plainly(text: str, done: Collection[str], target: Target) -> Plain:
    """Lower IR that has the passes of these names behind it; a whole graph's @main is taken for a @kernel. Raises
    PassError."""
    with kernel_context(), ir.Location.unknown():
        module = parse(text)
        _name_kernel(module)
        run_pipeline(module, _left(done), target, stage=REFERENCE)
        workspace, thread_workspace = (
            int(module.operation.attributes[name]) if name in module.operation.attributes else 0
            for name in (WORKSPACE_BYTES, THREAD_WORKSPACE_BYTES)
        )
        return Plain(to_llvm_ir(module), workspace, thread_workspace)


def _left(done: Collection[str]) -> Pipeline:
    reference = load_pipeline(REFERENCE)
    steps = tuple(step for step in opened(reference.steps) if bare_name(step.text) not in done)
    return Pipeline(REFERENCE, steps, reference.legal)


def _name_kernel(module: ir.Module) -> None:
    for op in module.body.operations:
        attributes = op.operation.attributes
        if op.operation.name == "func.func" and ir.StringAttr(attributes["sym_name"]).value == _MAIN:
            attributes["sym_name"] = ir.StringAttr.get("kernel")
