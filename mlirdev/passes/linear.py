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


def _static_layout(memref: Any) -> tuple[list[int], int] | None:
    """Strides and offset of a buffer, where all are known."""
    strides, offset = memref.type.get_strides_and_offset()
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    return None if offset == unknown or unknown in strides else (strides, offset)


def is_linear(access: Access, dims: int) -> bool:
    if access.exprs is None or not (is_dense(access.memref) or _static_layout(access.memref)):
        return False
    return all(stride_of(e, d) is not None for e in access.exprs for d in range(dims))


def linearize(access: Access, dims: int) -> LinearAccess:
    """The linear form of an access for which `is_linear` holds; emits run-time strides."""
    strides: list[Index] = [0] * dims
    steps, offset = _layout(access.memref)
    for expr, step in zip(access.exprs or (), steps, strict=True):
        for d in range(dims):
            strides[d] = add(strides[d], multiply(stride_of(expr, d) or 0, step))
        offset = add(offset, multiply(constant_of(expr), step))
    return LinearAccess(access.memref, tuple(strides), offset)


def _layout(memref: Any) -> tuple[list[Index], Index]:
    static = _static_layout(memref)
    if static is not None:
        return list(static[0]), static[1]
    steps: list[Index] = [1]
    for position in range(memref.type.rank - 1, 0, -1):
        steps.insert(0, multiply(steps[0], size_of(memref, position)))
    return steps, 0


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
    """A buffer as one dimension, from the start of the memory that it is a view of."""
    type_ = memref.type
    if not is_dense(memref):
        return _flat_span(memref)
    if type_.rank == 1:
        return memref
    if type_.rank == 0:
        flat = ir.MemRefType.get([1], type_.element_type)
        shape = ir.DenseI64ArrayAttr.get([1])
        return emit(
            "memref.expand_shape", [flat], [memref], reassociation=ir.ArrayAttr.get([]), static_output_shape=shape
        )
    size = 1
    for extent in type_.shape:
        size = -1 if size < 0 or extent < 0 else size * extent
    flat = ir.MemRefType.get([ir.ShapedType.get_dynamic_size() if size < 0 else size], type_.element_type)
    i64 = ir.IntegerType.get_signless(64)
    group = ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in range(type_.rank)])
    return emit("memref.collapse_shape", [flat], [memref], reassociation=ir.ArrayAttr.get([group]))


def _flat_span(memref: Any) -> Any:
    """What a strided view spans, and all before it."""
    strides, size = memref.type.get_strides_and_offset()
    size = max(1 + size + sum(stride * (n - 1) for stride, n in zip(strides, memref.type.shape, strict=True)), 1)
    numbers = {"static_offsets": [0], "static_sizes": [size], "static_strides": [1]}
    attributes = {name: ir.DenseI64ArrayAttr.get(value) for name, value in numbers.items()}
    segments = ir.DenseI32ArrayAttr.get([1, 0, 0, 0])
    flat = ir.Type.parse(f"memref<{size}x{memref.type.element_type}, strided<[1]>>")
    return emit("memref.reinterpret_cast", [flat], [memref], operandSegmentSizes=segments, **attributes)
