"""Give every temporary a place: small ones on the stack, static ones in the workspace argument, others on the heap.

    workspace   [ what the threads share | thread 0's own | thread 1's own | … ]

Static temporaries share memory by liveness: two that are never needed at once may overlap. In a kernel that is split
over threads, what they share lies in the workspace whatever its size, and lives from barrier to barrier.

The bytes planned become the module's attributes and what the caller must bring: `mlirdev.workspace` (all of it, where
the kernel isn't split) and `mlirdev.thread_workspace`, which each thread of a split one wants besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, add, as_value, multiply
from mlirdev.passes.nests import VIEWS
from mlirdev.passes.ops import emit, entry_block, kernel_function, named
from mlirdev.passes.sizes import THREAD, WORKSPACE, bytes_of
from mlirdev.passes.split_over_threads import SHARED, is_barrier, is_split
from mlirdev.plan import THREAD_WORKSPACE_BYTES, WORKSPACE_BYTES
from mlirdev.target import Target

NAME = "plan-workspace"
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
    shared: list[_Temporary] = []
    own: list[_Temporary] = []
    for op in named(function, "memref.alloc"):
        size = _static_bytes(op)
        if size is None:
            _free_at_end(op)
        elif SHARED in op.attributes:
            shared.append(_Temporary(op, size, *_lifetime(op, _periods(block))))
        elif size <= stack_bytes:
            stack_bytes -= size
            _move_to_stack(op, block)
        else:
            own.append(_Temporary(op, size, *_lifetime(op, _positions(block))))
    shared_offsets, shared_bytes = _place(shared)
    own_offsets, own_bytes = _place(own)
    is_for_many = is_split(module)
    _move_to_workspace(shared, shared_offsets, block, 0)
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        start = add(shared_bytes, multiply(block.arguments[THREAD], own_bytes)) if is_for_many and own else 0
    _move_to_workspace(own, own_offsets, block, start)
    sizes = (shared_bytes, own_bytes) if is_for_many else (own_bytes, 0)
    for name, size in zip((WORKSPACE_BYTES, THREAD_WORKSPACE_BYTES), sizes, strict=True):
        module.operation.attributes[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)


def _static_bytes(op: Any) -> int | None:
    size = bytes_of(op.results[0].type)
    return None if size is None else -(-size // _ALIGNMENT) * _ALIGNMENT


def _move_to_stack(op: Any, block: Any) -> None:
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ALIGNMENT)
    with ir.InsertionPoint.at_block_begin(block), op.location:
        alloca = emit("memref.alloca", [op.results[0].type], operandSegmentSizes=segments, alignment=alignment)
    op.results[0].replace_all_uses_with(alloca)
    op.erase()


def _free_at_end(op: Any) -> None:
    """A run-time size comes from the heap and goes back at the end of the block that asked for it."""
    memory = op.block
    last = memory.operations[len(memory.operations) - 1].operation
    with ir.InsertionPoint(last), op.location:
        emit("memref.dealloc", [], [op.results[0]])


# --- lifetimes ------------------------------------------------------------------------------------


def _positions(block: Any) -> dict[Any, int]:
    """When each op of the entry block runs."""
    return {view.operation: i for i, view in enumerate(block.operations)}


def _periods(block: Any) -> dict[Any, int]:
    """The same, as far as several threads agree on it: how many barriers come before."""
    periods: dict[Any, int] = {}
    count = 0
    for view in block.operations:
        count += is_barrier(view.operation)
        periods[view.operation] = count
    return periods


def _lifetime(op: Any, times: Mapping[Any, int]) -> tuple[int, int]:
    """When the first and the last op run that touch a temporary."""
    touched = [times[_enclosing(user, times)] for user in _touching(op.results[0])]
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


def _enclosing(op: Any, times: Mapping[Any, int]) -> Any:
    while op not in times:
        op = op.parent.operation
    return op


# --- places ---------------------------------------------------------------------------------------


def _place(temporaries: list[_Temporary]) -> tuple[list[int], int]:
    """An offset for each, and the bytes in all: largest first, each at the lowest place where it overlaps nothing that
    lives at the same time."""
    offsets = [0] * len(temporaries)
    placed: list[int] = []
    for number in sorted(range(len(temporaries)), key=lambda n: -temporaries[n].size):
        temporary, offset = temporaries[number], 0
        for rival in sorted(placed, key=lambda n: offsets[n]):
            other = temporaries[rival]
            if other.last < temporary.first or temporary.last < other.first:
                continue
            if offset + temporary.size <= offsets[rival]:
                break
            offset = max(offset, offsets[rival] + other.size)
        offsets[number] = offset
        placed.append(number)
    return offsets, max((offset + t.size for offset, t in zip(offsets, temporaries, strict=True)), default=0)


def _move_to_workspace(temporaries: list[_Temporary], offsets: list[int], block: Any, start: Index) -> None:
    for temporary, offset in zip(temporaries, offsets, strict=True):
        op = temporary.op
        with ir.InsertionPoint(op), op.location:
            place = as_value(add(start, offset))
            view = emit("memref.view", [op.results[0].type], [block.arguments[WORKSPACE], place])
        op.results[0].replace_all_uses_with(view)
        op.erase()
