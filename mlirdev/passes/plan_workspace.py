"""Give every temporary a place: small ones on the stack, static ones in the workspace argument, others on the heap.

Static temporaries share the workspace by liveness: two that are never needed at once may overlap. The bytes
planned become the module attribute `mlirdev.workspace`, and what the caller must bring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.passes.nests import VIEWS
from mlirdev.passes.ops import emit, entry_block, index_constant, kernel_function, named
from mlirdev.target import Target

NAME = "plan-workspace"
ATTRIBUTE = "mlirdev.workspace"
WORKSPACE_ARGUMENT = 2
_ALIGNMENT = 64


@dataclass(frozen=True)
class _Temporary:
    op: Any
    size: int
    first: int
    last: int


def run(module: ir.Module, target: Target, *, stack_bytes: int = 65536) -> None:
    function = kernel_function(module)
    block = entry_block(function)
    planned: list[_Temporary] = []
    for op in named(function, "memref.alloc"):
        size = _static_bytes(op)
        if size is None:
            _free_at_end(op, block)
        elif size <= stack_bytes:
            stack_bytes -= size
            _move_to_stack(op, block)
        else:
            planned.append(_Temporary(op, size, *_lifetime(op, block)))
    total = _place(planned, block.arguments[WORKSPACE_ARGUMENT])
    module.operation.attributes[ATTRIBUTE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), total)


def _static_bytes(op: Any) -> int | None:
    type_ = op.results[0].type
    if not type_.has_static_shape:
        return None
    size = math.prod(map(int, type_.shape)) * _element_bytes(type_.element_type)
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _element_bytes(type_: Any) -> int:
    return 8 if isinstance(type_, ir.IndexType) else DType(str(type_)).itemsize


def _move_to_stack(op: Any, block: Any) -> None:
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ALIGNMENT)
    with ir.InsertionPoint.at_block_begin(block), op.location:
        alloca = emit("memref.alloca", [op.results[0].type], operandSegmentSizes=segments, alignment=alignment)
    op.results[0].replace_all_uses_with(alloca)
    op.erase()


def _free_at_end(op: Any, block: Any) -> None:
    """A run-time size comes from the heap and goes back at the end of the block that asked for it."""
    memory = op.block
    last = memory.operations[len(memory.operations) - 1].operation
    with ir.InsertionPoint(last), op.location:
        emit("memref.dealloc", [], [op.results[0]])


def _lifetime(op: Any, block: Any) -> tuple[int, int]:
    """Positions in the entry block of the first and the last op that touch a temporary."""
    positions = {view.operation: i for i, view in enumerate(block.operations)}
    touched = [positions[_enclosing(user, positions)] for user in _touching(op.results[0])]
    return (min(touched), max(touched)) if touched else (0, 0)


def _touching(memref: Any) -> list[Any]:
    found = []
    for use in memref.uses:
        user = use.owner.operation
        found.append(user)
        if user.name in VIEWS:
            for result in user.results:
                found += _touching(result)
    return found


def _enclosing(op: Any, positions: dict[Any, int]) -> Any:
    while op not in positions:
        op = op.parent.operation
    return op


def _place(temporaries: list[_Temporary], workspace: Any) -> int:
    """Largest first, each at the lowest offset where it overlaps nothing that lives at the same time."""
    placed: list[tuple[int, _Temporary]] = []
    for temporary in sorted(temporaries, key=lambda t: -t.size):
        offset = 0
        for other_offset, other in sorted(placed, key=lambda p: p[0]):
            if other.last < temporary.first or temporary.last < other.first:
                continue
            if offset + temporary.size <= other_offset:
                break
            offset = max(offset, other_offset + other.size)
        placed.append((offset, temporary))
    for offset, temporary in placed:
        _move_to_workspace(temporary.op, workspace, offset)
    return max((offset + t.size for offset, t in placed), default=0)


def _move_to_workspace(op: Any, workspace: Any, offset: int) -> None:
    with ir.InsertionPoint(op), op.location:
        view = emit("memref.view", [op.results[0].type], [workspace, index_constant(offset)])
    op.results[0].replace_all_uses_with(view)
    op.erase()
