"""Add up a long row in chunks: f32 within a chunk, f64 over the chunks.

    for j: total(f64) += x[j]   ──►   for c by 1024 { for j in c … c + 1024: part(f32) += x[j];  total(f64) += part }

Two thirds of the instructions of a sum in f64 convert, and a vector has half the lanes. With the lanes of its vectors
as partial sums, a chunk rounds no more often than the CPU's sum by pairs. A sum that is wanted in f64 stays as it is.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import add, for_loop, minimum
from mlirdev.passes.ops import constant, defining_op, emit, kernel_function, named, users
from mlirdev.passes.work import constant_of
from mlirdev.target import Target

NAME = "sum-in-chunks"
_REORDERED = "#arith.fastmath<reassoc,contract>"


def run(module: ir.Module, target: Target, *, chunk: int = 1024) -> None:
    for loop in named(kernel_function(module), "scf.for"):
        parts = _summed(loop)
        if parts and _is_long(loop, 4 * chunk) and all(_ends_in_f32(total) for total in loop.results):
            _split(loop, parts, chunk)


def _summed(loop: Any) -> list[Any]:
    """What the loop adds to each value that it carries, if it does nothing else to them and no loop is within."""
    block = loop.regions[0].blocks[0]
    *body, yield_ = [view.operation for view in block.operations]
    if any(op.regions for op in body):
        return []
    carried = list(block.arguments)[1:]
    found = [_added_to(c, value) for c, value in zip(carried, yield_.operands, strict=True)]
    return [] if any(value is None for value in found) else found


def _added_to(carried: Any, yielded: Any) -> Any | None:
    """The f32 value whose sum in f64 is carried."""
    addition = defining_op(yielded)
    if addition is None or addition.name != "arith.addf" or len(list(carried.uses)) != 1:
        return None
    widened = [v for v in addition.operands if v != carried]
    extension = defining_op(widened[0]) if len(widened) == 1 else None
    if extension is None or extension.name != "arith.extf" or len(list(yielded.uses)) != 1:
        return None
    part = extension.operands[0]
    is_sum = part.type == ir.F32Type.get() and carried.type == ir.F64Type.get()
    return part if is_sum else None


def _ends_in_f32(total: Any) -> bool:
    """Whether a value is only rounded to f32, perhaps after it was kept for a while or added to by a loop around."""
    return all(_is_rounding(use) for use in total.uses)


def _is_rounding(use: Any) -> bool:
    user = use.owner.operation
    if user.name == "arith.truncf":
        return bool(user.results[0].type == ir.F32Type.get())
    if user.name == "scf.yield" and user.block.owner.operation.name == "scf.for":
        return _ends_in_f32(user.block.owner.operation.results[use.operand_number])
    if user.name != "memref.store":
        return False
    memref = user.operands[1]
    owner = defining_op(memref)
    return owner is not None and owner.name == "memref.alloc" and all(_reads_f32(reader) for reader in users(memref))


def _reads_f32(user: Any) -> bool:
    """Whether what touches a temporary only writes it, or reads it to round it."""
    return user.name == "memref.store" or (
        user.name == "memref.load" and all(u.name == "arith.truncf" for u in users(user.results[0]))
    )


def _is_long(loop: Any, least: int) -> bool:
    lower, upper, step = (constant_of(v) for v in list(loop.operands)[:3])
    return lower == 0 and step == 1 and (upper is None or upper >= least)


def _split(loop: Any, parts: list[Any], chunk: int) -> None:
    known = constant_of(loop.operands[1])
    size = loop.operands[1] if known is None else known
    totals = list(loop.operands)[3:]
    with ir.InsertionPoint(loop), loop.location:
        zero = constant(ir.F32Type.get(), 0.0)
        with for_loop(0, size, chunk, totals) as chunks:
            end = add(chunks.iv, chunk)
            stop = end if known is not None and known % chunk == 0 else minimum(end, size)
            with for_loop(chunks.iv, stop, 1, [zero] * len(parts)) as inner:
                here = _clone_body(loop, inner.iv)
                inner.yields = [_added(here.get(p, p), sum_) for p, sum_ in zip(parts, inner.carried, strict=True)]
            f64 = ir.F64Type.get()
            widened = [emit("arith.extf", [f64], [part]) for part in inner.results]
            chunks.yields = [_added(total, part) for total, part in zip(chunks.carried, widened, strict=True)]
    for old, new in zip(loop.results, chunks.results, strict=True):
        old.replace_all_uses_with(new)
    loop.erase()


def _clone_body(loop: Any, iv: Any) -> dict[Any, Any]:
    """Write the body, but for the sums, at another iteration; by value of the body, its new one."""
    block = loop.regions[0].blocks[0]
    dropped = {defining_op(v) for v in list(block.operations)[-1].operands}
    values = {block.arguments[0]: iv}
    for view in list(block.operations)[:-1]:
        op = view.operation
        if op in dropped:
            continue
        copy = op.clone()
        for position, operand in enumerate(op.operands):
            copy.operands[position] = values.get(operand, operand)
        values.update(zip(op.results, copy.results, strict=True))
    return values


def _added(a: Any, b: Any) -> Any:
    return emit("arith.addf", [a.type], [a, b], fastmath=ir.Attribute.parse(_REORDERED))
