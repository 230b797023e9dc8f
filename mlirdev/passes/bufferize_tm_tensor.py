"""Put torch-mlir's tm_tensor ops (scan, sort, scatter, attention) on buffers, where loops can be made of them.

They don't take part in one-shot-bufferize, so their own pass runs first. It returns tensors of fresh buffers, which
are marked as such: otherwise one-shot-bufferize refuses them.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from mlirdev.passes.ops import named, walk
from mlirdev.target import Target

NAME = "bufferize-tm-tensor"


def run(module: ir.Module, target: Target) -> None:
    if not any(op.name.startswith("tm_tensor.") for op in walk(module)):
        return
    PassManager.parse("builtin.module(func.func(tm-tensor-bufferize))").run(module.operation)
    for op in named(module, "bufferization.to_tensor"):
        if not isinstance(op.operands[0].owner, ir.Block):
            op.attributes["restrict"] = op.attributes["writable"] = ir.UnitAttr.get()
