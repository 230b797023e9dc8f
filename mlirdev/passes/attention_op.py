"""mlirdev.attention and its backward on buffers, read into the terms of their schedules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from mlirdev.dialect import OUTPUTS
from mlirdev.passes.build import Index, add, as_value, multiply, product, subtract
from mlirdev.passes.linear import is_dense
from mlirdev.passes.ops import defining_op, emit
from mlirdev.passes.sizes import size_of

FLAGS = ("causal", "zero_rows")
# Per dim of the operation, where it stands.
Place = Mapping[int, Index]


@dataclass(frozen=True)
class Operand:
    """Element `offset + Σ strides[d] · d` of the one-dimensional `flat`; a dim that isn't there doesn't move it."""

    flat: Any
    offset: Index
    strides: Mapping[int, Index]

    def at(self, place: Place) -> Index:
        offset = self.offset
        for dim, position in place.items():
            if dim in self.strides:
                offset = add(offset, multiply(position, self.strides[dim]))
        return offset

    def stride(self, dim: int) -> Index:
        return self.strides.get(dim, 0)


@dataclass(frozen=True)
class AttentionOp:
    """`sizes` are those of the dims (batch…, m, n, d, e); `inputs` and `outputs` in the operation's order, a mask that
    isn't there left out."""

    op: Any
    causal: bool
    zero_rows: bool
    scale: float
    sizes: tuple[Index, ...]
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def batch(self) -> range:
        return range(len(self.sizes) - 4)

    @property
    def m(self) -> int:
        return len(self.sizes) - 4

    @property
    def n(self) -> int:
        return len(self.sizes) - 3

    @property
    def d(self) -> int:
        return len(self.sizes) - 2

    @property
    def e(self) -> int:
        return len(self.sizes) - 1

    def element(self, position: int) -> Any:
        return self.inputs[position].flat.type.element_type


def read_attention(op: Any) -> AttentionOp:
    """Emits run-time sizes and strides before the op."""
    maps = [ir.AffineMapAttr(a).value for a in op.attributes["indexing_maps"]]
    memrefs = [_uncast(value) for value in op.operands]
    split = len(memrefs) - OUTPUTS[op.name]
    with ir.InsertionPoint(op), op.location:
        operands = [_operand(memref, map_) for memref, map_ in zip(memrefs, maps, strict=True)]
        sizes = tuple(_size(d, memrefs, maps) for d in range(maps[0].n_dims))
    causal, zero_rows = (name in op.attributes and ir.BoolAttr(op.attributes[name]).value for name in FLAGS)
    scale = ir.FloatAttr(op.attributes["scale"]).value
    return AttentionOp(op, causal, zero_rows, scale, sizes, tuple(operands[:split]), tuple(operands[split:]))


def _uncast(memref: Any) -> Any:
    """Before a cast that only forgets sizes and strides."""
    while (op := defining_op(memref)) is not None and op.name == "memref.cast":
        memref = op.operands[0]
    return memref


def _size(dim: int, memrefs: Iterable[Any], maps: Iterable[Any]) -> Index:
    """A size that some operand says, an int if one knows it."""
    found: Any = None
    for memref, map_ in zip(memrefs, maps, strict=True):
        for position, expr in enumerate(map_.results):
            if isinstance(expr, ir.AffineDimExpr) and expr.position == dim:
                if memref.type.shape[position] >= 0:
                    return int(memref.type.shape[position])
                found = found or (memref, position)
    return 1 if found is None else size_of(*found)


def _operand(memref: Any, map_: Any) -> Operand:
    flat, offset, steps = _strided(memref)
    strides: dict[int, Index] = {}
    for expr, step in zip(map_.results, steps, strict=True):
        if isinstance(expr, ir.AffineDimExpr):
            strides[expr.position] = step
    return Operand(flat, offset, strides)


def _strided(memref: Any) -> tuple[Any, Index, list[Index]]:
    """All of the memory that a buffer is a view of as one dimension, and the view's offset and strides."""
    strides, offset = _layout(memref)
    span = add(offset, 1)
    for position, stride in enumerate(strides):
        span = add(span, multiply(stride, subtract(size_of(memref, position), 1)))
    return _one_dimension(memref, span), offset, strides


def _layout(memref: Any) -> tuple[list[Index], Index]:
    rank, index, unknown = memref.type.rank, ir.IndexType.get(), ir.ShapedType.get_dynamic_stride_or_offset()
    if is_dense(memref):
        sizes = [size_of(memref, position) for position in range(rank)]
        return [product(sizes[position + 1 :]) for position in range(rank)], 0
    strides, offset = memref.type.get_strides_and_offset()
    if offset != unknown and unknown not in strides:
        return [int(s) for s in strides], int(offset)
    types = [ir.MemRefType.get([], memref.type.element_type), index, *[index] * (2 * rank)]
    _, start, *rest = emit("memref.extract_strided_metadata", types, [memref]).results
    known = [step if s == unknown else int(s) for s, step in zip(strides, rest[rank:], strict=True)]
    return known, start if offset == unknown else int(offset)


def _one_dimension(memref: Any, span: Index) -> Any:
    size = span if isinstance(span, int) else ir.ShapedType.get_dynamic_size()
    numbers = {"static_offsets": [0], "static_sizes": [size], "static_strides": [1]}
    attributes = {name: ir.DenseI64ArrayAttr.get(value) for name, value in numbers.items()}
    sizes = [] if isinstance(span, int) else [as_value(span)]
    segments = ir.DenseI32ArrayAttr.get([1, 0, len(sizes), 0])
    flat = ir.Type.parse(f"memref<{'?' if sizes else size}x{memref.type.element_type}, strided<[1]>>")
    return emit("memref.reinterpret_cast", [flat], [memref, *sizes], operandSegmentSizes=segments, **attributes)
