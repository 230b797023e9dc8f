"""Short hands for reading and writing MLIR from Python, shared by our passes.

Operations are made by name through `ir.Operation.create`, which costs half of what the generated builders do.
All makers insert at the current insertion point and location.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir


def emit(name: str, types: Sequence[Any], operands: Sequence[Any] = (), **attributes: Any) -> Any:
    """Make an op; its result, where it has exactly one, else its operation."""
    op = ir.Operation.create(name, results=list(types), operands=list(operands), attributes=attributes or None)
    return op.results[0] if len(types) == 1 else op


def index_type() -> Any:
    return ir.IndexType.get()


def constant(type_: Any, value: int | float) -> Any:
    """An arith.constant of an integer, index or float type."""
    is_float = isinstance(type_, ir.FloatType)
    attribute = ir.FloatAttr.get(type_, value) if is_float else ir.IntegerAttr.get(type_, int(value))
    return emit("arith.constant", [type_], value=attribute)


def walk(root: Any) -> list[Any]:
    """All operations under `root`, innermost first."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        found.append(op)
        return ir.WalkResult.ADVANCE

    root.operation.walk(visit)
    return found


def named(root: Any, name: str) -> list[Any]:
    """The operations of this name under `root`."""
    return [op for op in walk(root) if op.name == name]


def kernel_function(module: Any) -> Any:
    """The module's func.func @kernel."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.operation.attributes["sym_name"].value == "kernel":
            return op.operation
    raise ValueError("the module defines no func.func @kernel")


def entry_block(function: Any) -> Any:
    return function.regions[0].blocks[0]


def defining_op(value: Any) -> Any | None:
    """The operation that makes `value`; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def users(value: Any) -> list[Any]:
    return [use.owner.operation for use in value.uses]


def index_constant(value: int) -> Any:
    return constant(ir.IndexType.get(), value)


def call_intrinsic(name: str, types: Sequence[Any], operands: Sequence[Any]) -> Any:
    """Call one of LLVM's intrinsics."""
    attributes = {
        "intrin": ir.StringAttr.get(name),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
    }
    return emit("llvm.call_intrinsic", types, operands, **attributes)
