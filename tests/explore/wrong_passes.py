"""Passes that are wrong on purpose, named in pipelines as wrong_passes:function."""

from __future__ import annotations

import os
from typing import Any


def swap_addf(module: Any, target: Any) -> None:
    """Every arith.addf becomes a subf, but in ops that are named for what they do."""
    from torch_mlir import ir

    found: list[Any] = []

    def visit(op: Any) -> Any:
        found.extend([op] if op.name == "arith.addf" and op.parent.name != "linalg.matmul" else [])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    for op in found:
        with ir.InsertionPoint(op), op.location:
            new = ir.Operation.create("arith.subf", results=[op.results[0].type], operands=list(op.operands))
        op.results[0].replace_all_uses_with(new.results[0])
        op.erase()


def abort_on_exp(module: Any, target: Any) -> None:
    """End the process, as an assertion of MLIR's does, where there is a math.exp."""
    if "math.exp" in str(module):
        os.abort()


def abort_on_tanh(module: Any, target: Any) -> None:
    """The same for a math.tanh."""
    if "math.tanh" in str(module):
        os.abort()
