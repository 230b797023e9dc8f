"""Run-time sizes: which value holds a buffer's size, so that equal sizes are known to be equal."""

from __future__ import annotations

import math
from typing import Any

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.passes.ops import defining_op, emit, index_constant

# On @kernel: per run-time dim of its buffers, in order, the position of the argument that holds it.
DIMS = "mlirdev.dims"


def bytes_of(type_: Any) -> int | None:
    """How much memory a buffer type of static shape takes."""
    if not type_.has_static_shape:
        return None
    element = 8 if isinstance(type_.element_type, ir.IndexType) else DType(str(type_.element_type)).itemsize
    return math.prod(map(int, type_.shape)) * element


def size_of(memref: Any, position: int) -> Any:
    """A buffer's size: an int, or a value of type index."""
    size = memref.type.shape[position]
    if size >= 0:
        return int(size)
    known = _size_of_alloc(memref, position) if defining_op(memref) is not None else size_argument(memref, position)
    if known is not None:
        return known
    return emit("memref.dim", [ir.IndexType.get()], [memref, index_constant(position)])


def _size_of_alloc(memref: Any, position: int) -> Any | None:
    op = defining_op(memref)
    if op is None or op.name != "memref.alloc":
        return None
    return op.operands[sum(size < 0 for size in memref.type.shape[:position])]


def size_argument(argument: Any, position: int) -> Any | None:
    """The argument of @kernel that holds a run-time size of this argument."""
    function = argument.owner.owner
    if DIMS not in function.attributes:
        return None
    positions = list(ir.DenseI64ArrayAttr(function.attributes[DIMS]))
    before = 0
    for other in argument.owner.arguments:
        if not isinstance(other.type, ir.MemRefType) or other.arg_number < FIRST_PARAM:
            continue
        shape = other.type.shape
        if other == argument:
            return argument.owner.arguments[positions[before + sum(size < 0 for size in shape[:position])]]
        before += sum(size < 0 for size in shape)
    return None


# The arguments before the kernel's own: error word, this thread's number, how many threads there are, workspace.
ERROR, THREAD, THREADS, WORKSPACE, FIRST_PARAM = range(5)
