"""Take away the pins of `pin-contraction-operands`."""

from __future__ import annotations

from torch_mlir import ir

from mlirdev.passes.pin_contraction_operands import PREFIX
from mlirdev.target import Target

NAME = "unpin-contraction-operands"


def run(module: ir.Module, target: Target) -> None:
    """Erase the calls first, then the functions that they called."""
    functions = [view.operation for view in module.body.operations if view.operation.name == "func.func"]
    for function in functions:
        for block in function.regions[0].blocks:
            for op in [view.operation for view in block.operations]:
                if op.name == "func.call" and _is_pin(ir.FlatSymbolRefAttr(op.attributes["callee"]).value):
                    op.erase()
    for function in functions:
        if _is_pin(ir.StringAttr(function.attributes["sym_name"]).value):
            function.erase()


def _is_pin(name: str) -> bool:
    return name.startswith(PREFIX)
