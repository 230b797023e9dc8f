"""Make every access safe: an index taken from data is checked and clamped, an assertion becomes a note to the caller.

    cf.assert %ok, "…"                     ──►  if not ok: error[:] = (code of the message, ordinal, value, bound)
    memref.load %table[%index_from_data]   ──►  if index ≥ᵤ size: error[:] = (ERROR_INDEX, ordinal, index, size)
                                                load at min(max(index, 0), size - 1)

`error` is @kernel's first argument and the ordinal is the op's, from its location "nK". Nothing stops early: the
kernel runs to its end on clamped indices and the caller drops its results. Checks move out of loops that they don't
depend on, as LLVM wouldn't move them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import compare
from mlirdev.passes.nests import root_of
from mlirdev.passes.ops import constant, defining_op, emit, entry_block, index_constant, kernel_function, named, walk
from mlirdev.plan import CHECKS, ERROR_ASSERT, ERROR_INDEX
from mlirdev.target import Target

NAME = "assert-to-error-word"

_ORDINAL = re.compile(r'"n(\d+)"')
_ACCESSES = {"memref.load": 0, "memref.store": 1}  # where the memref stands among the operands


def run(module: ir.Module, target: Target) -> None:
    function = kernel_function(module)
    error = entry_block(function).arguments[0]
    checked: set[Any] = set()
    guards: dict[tuple[Any, ...], Any] = {}
    for op in walk(function):
        if op.name in _ACCESSES:
            _guard_access(op, error, guards, checked)
    for op in named(function, "cf.assert"):
        _replace_assert(op, error, checked)


def find_ordinal(location: Any) -> int | None:
    """K of the location "nK", if it is one."""
    match = _ORDINAL.search(str(location))
    return int(match[1]) if match else None


def ordinal_of(location: Any) -> int:
    return find_ordinal(location) or 0


# --- accesses -------------------------------------------------------------------------------------


def _guard_access(op: Any, error: Any, guards: dict[tuple[Any, ...], Any], checked: set[Any]) -> None:
    position = _ACCESSES[op.name]
    memref = op.operands[position]
    for dim, index in enumerate(list(op.operands)[position + 1 :]):
        if not _comes_from_data(index):
            continue
        anchor = _hoist(index, op)
        key = (index, memref.type.shape[dim] if memref.type.shape[dim] >= 0 else memref, anchor.block)
        if key not in guards:
            guards[key] = _checked_index(index, memref, dim, op, anchor, error)
            checked.update(_aliases(index))
        if memref.type.shape[dim] == 0:
            _drop(op)
            return
        op.operands[position + 1 + dim] = guards[key]


def _comes_from_data(index: Any) -> bool:
    """Whether a loaded element takes part in an index."""
    op = defining_op(index)
    if op is None or op.name.startswith(("memref.dim", "scf.")):
        return False
    return op.name == "memref.load" or any(map(_comes_from_data, op.operands))


def _drop(op: Any) -> None:
    """No element of an empty buffer can be touched; the check before it says so."""
    if op.results:
        type_ = op.results[0].type
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(constant(type_, 0))
    op.erase()


def _checked_index(index: Any, memref: Any, dim: int, op: Any, anchor: Any, error: Any) -> Any:
    """Before the anchor: check the index of `op` and return it clamped."""
    with ir.InsertionPoint(anchor), op.location:
        size = _size(memref, dim, index)
        inside = compare("ult", index, size)
        _note_unless(inside, error, (ERROR_INDEX, ordinal_of(op.location), _before_wrapping(index), size))
        last = emit("arith.subi", [index.type], [size, index_constant(1)])
        low = emit("arith.maxsi", [index.type], [index, index_constant(0)])
        return emit("arith.minsi", [index.type], [low, last])


def _size(memref: Any, dim: int, index: Any) -> Any:
    size = memref.type.shape[dim]
    return index_constant(size) if size >= 0 else emit("memref.dim", [index.type], [memref, index_constant(dim)])


def _before_wrapping(index: Any) -> Any:
    """The user's index, where it is `index < 0 ? index + size : index`."""
    for value in _aliases(index):
        op = defining_op(value)
        if op is not None and op.name == "arith.select":
            return op.operands[2]
    return index


def _aliases(index: Any) -> Iterator[Any]:
    """The index and the values that it is a mere cast of."""
    yield index
    while (op := defining_op(index)) is not None and op.name == "arith.index_cast":
        index = op.operands[0]
        yield index


# --- assertions -----------------------------------------------------------------------------------


def _replace_assert(op: Any, error: Any, checked: set[Any]) -> None:
    condition = op.operands[0]
    comparison = defining_op(condition)
    compared = list(comparison.operands) if comparison is not None and comparison.name == "arith.cmpi" else []
    if not (compared and compared[0] in checked):
        with ir.InsertionPoint(_hoist(condition, op)), op.location:
            value, bound = compared or [index_constant(0)] * 2
            code = CHECKS.get(ir.StringAttr(op.attributes["msg"]).value, ERROR_ASSERT)
            value = _before_wrapping(value) if code == ERROR_INDEX else value
            _note_unless(condition, error, (code, ordinal_of(op.location), value, bound))
    op.erase()


def _note_unless(condition: Any, error: Any, words: tuple[Any, ...]) -> None:
    """Store the words to the error word, unless the condition holds."""
    wrong = emit("arith.xori", [_i1()], [condition, constant(_i1(), 1)])
    branch = ir.Operation.create("scf.if", operands=[wrong], regions=2)
    block = ir.Block.create_at_start(branch.regions[0], [])
    i64 = ir.IntegerType.get_signless(64)
    with ir.InsertionPoint(block):
        for position, word in enumerate(words):
            value = constant(i64, word) if isinstance(word, int) else _as_i64(word, i64)
            emit("memref.store", [], [value, error, index_constant(position)])
        emit("scf.yield", [])


def _as_i64(value: Any, i64: Any) -> Any:
    if value.type == i64:
        return value
    if isinstance(value.type, ir.IndexType):
        return emit("arith.index_cast", [i64], [value])
    return emit("arith.extsi" if value.type.width < 64 else "arith.trunci", [i64], [value])


def _i1() -> Any:
    return ir.IntegerType.get_signless(1)


# --- hoisting -------------------------------------------------------------------------------------


def _hoist(value: Any, user: Any) -> Any:
    """Move what computes `value` out of each loop around `user` that it doesn't depend on. The outermost such loop, or
    the user: the op before which the value can be looked at."""
    loop = _loop_around(user)
    while loop is not None and _can_leave(value, loop):
        _leave(value, loop)
        user, loop = loop, _loop_around(loop)
    return user


def _loop_around(op: Any) -> Any | None:
    parent = op.parent.operation
    return parent if parent.name == "scf.for" else None


def _inside(op: Any, loop: Any) -> bool:
    while op.name != "func.func":
        if op == loop:
            return True
        op = op.parent.operation
    return False


def _can_leave(value: Any, loop: Any) -> bool:
    op = defining_op(value)
    if op is None:
        return value.owner.owner.operation != loop and not _inside(value.owner.owner.operation, loop)
    if not _inside(op, loop):
        return True
    if op.regions or (op.name == "memref.load" and _writes(loop, root_of(op.operands[0]))):
        return False
    return all(_can_leave(operand, loop) for operand in op.operands)


def _writes(loop: Any, root: Any) -> bool:
    return any(root_of(op.operands[1]) == root for op in named(loop, "memref.store"))


def _leave(value: Any, loop: Any) -> None:
    op = defining_op(value)
    if op is None or not _inside(op, loop):
        return
    for operand in op.operands:
        _leave(operand, loop)
    op.move_before(loop)
