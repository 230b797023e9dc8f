"""Make math.expm1 a call to libm's function, which jit/ replaces by its own.

MLIR turns it into exp(x) - 1, which is 0 for a small x, whatever the options.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.ops import emit, named
from mlirdev.target import Target

NAME = "keep-expm1"
FUNCTIONS = {"f32": "expm1f", "f64": "expm1"}


def run(module: ir.Module, target: Target) -> None:
    for op in named(module, "math.expm1"):
        function = FUNCTIONS.get(str(op.results[0].type))
        if function is None:
            continue
        _declare(module, function, op.results[0].type)
        with ir.InsertionPoint(op), op.location:
            call = emit("func.call", [op.results[0].type], [op.operands[0]], callee=ir.FlatSymbolRefAttr.get(function))
        op.results[0].replace_all_uses_with(call)
        op.erase()


def _declare(module: ir.Module, name: str, type_: Any) -> None:
    symbols = ir.SymbolTable(module.operation)
    if name in symbols:
        return
    with ir.InsertionPoint(module.body), ir.Location.unknown():
        ir.Operation.create(
            "func.func",
            regions=1,
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get([type_], [type_])),
            },
        )
