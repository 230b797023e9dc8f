"""Accesses as linear functions: which element of its flat buffer a nest touches, by one stride per dim.

Convolutions, transposes and batches differ only in these strides, so a schedule that is written on them serves all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.passes.build import Index, add, multiply
from mlirdev.passes.nests import Access, stride_of
from mlirdev.passes.ops import emit
from mlirdev.passes.sizes import size_of


@dataclass(frozen=True)
class LinearAccess:
    """Element `offset + Σ strides[d] * d` of the one-dimensional `flat`."""

    memref: Any
    strides: tuple[Index, ...]
    offset: Index

    @property
    def element_type(self) -> Any:
        return self.memref.type.element_type

    def flat(self) -> Any:
        """The buffer as one dimension, emitted here."""
        return flatten(self.memref)


def is_dense(memref: Any) -> bool:
    """Whether a buffer is row-major without gaps or offset."""
    return bool(memref.type.layout == ir.AffineMapAttr.get(ir.AffineMap.get_identity(memref.type.rank)))


def is_linear(access: Access, dims: int) -> bool:
    if access.exprs is None or not is_dense(access.memref):
        return False
    return all(stride_of(e, d) is not None for e in access.exprs for d in range(dims))


def linearize(access: Access, dims: int) -> LinearAccess:
    """The linear form of an access for which `is_linear` holds; emits run-time strides."""
    exprs = access.exprs or ()
    strides: list[Index] = [0] * dims
    offset: Index = 0
    step: Index = 1
    for position in range(len(exprs) - 1, -1, -1):
        expr = exprs[position]
        for d in range(dims):
            strides[d] = add(strides[d], multiply(stride_of(expr, d) or 0, step))
        offset = add(offset, multiply(constant_of(expr), step))
        if position:
            step = multiply(step, size_of(access.memref, position))
    return LinearAccess(access.memref, tuple(strides), offset)


def constant_of(expr: Any) -> int:
    """What a linear expression is where every dim is 0."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    if isinstance(expr, ir.AffineAddExpr):
        return constant_of(expr.lhs) + constant_of(expr.rhs)
    if isinstance(expr, ir.AffineMulExpr):
        return constant_of(expr.lhs) * constant_of(expr.rhs)
    return 0


def flatten(memref: Any) -> Any:
    """A dense buffer as one dimension."""
    type_ = memref.type
    if type_.rank == 1:
        return memref
    size = 1
    for extent in type_.shape:
        size = -1 if size < 0 or extent < 0 else size * extent
    shape = [ir.ShapedType.get_dynamic_size() if size < 0 else size]
    flat = ir.MemRefType.get(shape, type_.element_type)
    i64 = ir.IntegerType.get_signless(64)
    groups = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in range(type_.rank)])])
    if type_.rank == 0:
        groups, name = ir.ArrayAttr.get([]), "memref.expand_shape"
        return emit(name, [flat], [memref], reassociation=groups, static_output_shape=ir.DenseI64ArrayAttr.get([1]))
    return emit("memref.collapse_shape", [flat], [memref], reassociation=groups)
