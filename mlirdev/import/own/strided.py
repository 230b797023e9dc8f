"""mlirdev.strided_read and strided_write, bitcast, and views whose sizes are known only when run."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Arg, Node

from .. import dims
from ..dims import Shape, size_of
from ..emitter import Emitter
from .registry import own


@own("mlirdev.strided_read", "mlirdev.strided_read.default")
def strided_read(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """strided_read(x, sizes, strides, offset): element i is x.flat[offset + Σ i·stride]."""
    x, _, strides, offset = node.args
    flat = _flat(e, e.tensor(x), e.spec(x).shape)
    spec = node.results[0]

    def body() -> ir.Value:
        place = _place(e, offset, strides, [e.iteration(d) for d in range(len(spec.shape))])
        return e.extract(flat, [place])

    return [e.generic(spec.shape, e.element_type(spec.dtype), [], body)]


@own("mlirdev.strided_write", "mlirdev.strided_write.default")
def strided_write(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """strided_write(x, src, sizes, strides, offset): x with those elements from src; later ones win."""
    x, src, _, strides, offset = node.args
    source, shape = e.tensor(src), e.spec(src).shape
    flat = _flat(e, e.tensor(x), e.spec(x).shape)

    def body(indices: list[ir.Value], carried: ir.Value) -> ir.Value:
        place = _place(e, offset, strides, [e.to_i64(i) for i in indices])
        return e.insert(e.extract(source, indices), carried, [place])

    written = e.loops([e.dim(d) for d in shape], flat, body)
    return [reshape(e, written, (dims.product(e.spec(x).shape),), node.results[0].shape)]


@own("own.view")
def view(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """view(x, sizes): the same elements in another shape, by collapse_shape and expand_shape."""
    return [reshape(e, e.tensor(node.args[0]), e.spec(node.args[0]).shape, node.results[0].shape)]


@own("mlirdev.bitcast", "mlirdev.bitcast.default")
def bitcast(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """bitcast(x, dtype): the same bytes as another element type; the last dim scales with the size."""
    source, result = e.spec(node.args[0]), node.results[0]
    before, after = source.dtype.itemsize * 8, result.dtype.itemsize * 8
    bits = _elementwise_bits(e, e.tensor(node.args[0]), source.shape, source.dtype.builtin, before)
    if before > after:
        bits = _split(e, bits, source.shape, result.shape, before, after)
    elif before < after:
        bits = _join(e, bits, source.shape, result.shape, before, after)
    return [_from_bits(e, bits, result.shape, result.dtype.builtin, after)]


def _place(e: Emitter, offset: Arg, strides: Arg, indices: Sequence[ir.Value]) -> ir.Value:
    assert isinstance(strides, tuple)
    place = e.dim_i64(size_of(offset))
    for index, stride in zip(indices, strides, strict=True):
        step = size_of(stride)
        if step != 0:
            place = e.add(place, e.mul(index, e.dim_i64(step)))
    return place


def _flat(e: Emitter, value: ir.Value, shape: Shape) -> ir.Value:
    return reshape(e, value, shape, (dims.product(shape),))


def reshape(e: Emitter, value: ir.Value, old: Shape, new: Shape) -> ir.Value:
    """Row-major: one collapse where that suffices, one expand where that does, else through one dimension."""
    if old == new:
        return value
    groups = _groups(old, new)
    groups = _groups(new, old) if groups is None else groups
    if groups is None:
        count = (dims.product(old),)
        return reshape(e, reshape(e, value, old, count), count, new)
    element = ir.RankedTensorType(value.type).element_type
    type_ = e.builder.type(f"tensor<{''.join(f'{d}x' if isinstance(d, int) else '?x' for d in new)}{element}>")
    reassociation = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(e.i64, i) for i in g]) for g in groups])
    if len(old) >= len(new):
        return e.op("tensor.collapse_shape", type_, value, attributes={"reassociation": reassociation})
    static = [d if isinstance(d, int) else ir.ShapedType.get_dynamic_size() for d in new]
    runtime = [e.dim(d) for d in new if not isinstance(d, int)]
    attributes = {"reassociation": reassociation, "static_output_shape": ir.DenseI64ArrayAttr.get(static)}
    return e.op("tensor.expand_shape", type_, value, *runtime, attributes=attributes)


def _groups(many: Shape, few: Shape) -> list[list[int]] | None:
    """Which dims of `many` make each dim of `few`, or None where that can't be told."""
    if not few:
        return [] if all(d == 1 for d in many) else None
    if len(few) == 1:
        return [list(range(len(many)))] if many else None
    groups: list[list[int]] = []
    place = 0
    for dim in few:
        group: list[int] = []
        while place < len(many) and (not group or dims.product(many[i] for i in group) != dim):
            group.append(place)
            place += 1
        if not group or dims.product(many[i] for i in group) != dim:
            return None
        groups.append(group)
    groups[-1] += range(place, len(many))
    return groups if all(many[i] == 1 for i in range(place, len(many))) else None


def _elementwise_bits(e: Emitter, value: ir.Value, shape: Shape, element: str, width: int) -> ir.Value:
    integer = e.builder.type(f"i{width}")
    rank = list(range(len(shape)))
    if element == "i1":
        return e.generic(shape, integer, [(value, rank)], lambda x: e.op("arith.extui", integer, x))
    if element.startswith("i"):
        return value
    return e.generic(shape, integer, [(value, rank)], lambda x: e.op("arith.bitcast", integer, x))


def _from_bits(e: Emitter, value: ir.Value, shape: Shape, element: str, width: int) -> ir.Value:
    type_ = e.builder.type(element)
    rank = list(range(len(shape)))
    if element == "i1":
        zero = e.constant(0, e.builder.type(f"i{width}"))
        return e.generic(shape, type_, [(value, rank)], lambda x: e.cmp("ne", x, zero))
    if element.startswith("i"):
        return value
    return e.generic(shape, type_, [(value, rank)], lambda x: e.op("arith.bitcast", type_, x))


def _split(e: Emitter, value: ir.Value, old: Shape, new: Shape, before: int, after: int) -> ir.Value:
    """Each element becomes several narrower ones, the low bits first."""
    ratio, wide, narrow = before // after, e.builder.type(f"i{before}"), e.builder.type(f"i{after}")

    def body() -> ir.Value:
        *outer, last = [e.iteration(d) for d in range(len(new))]
        scale = e.constant(ratio, e.i64)
        word = e.extract(value, [*outer, e.binary("divui", last, scale)] if old else [])
        shift = e.mul(e.binary("remui", last, scale), e.constant(after, e.i64))
        shift = shift if before == 64 else e.op("arith.trunci", wide, shift)
        return e.op("arith.trunci", narrow, e.binary("shrui", word, shift))

    return e.generic(new, narrow, [], body)


def _join(e: Emitter, value: ir.Value, old: Shape, new: Shape, before: int, after: int) -> ir.Value:
    ratio, wide = after // before, e.builder.type(f"i{after}")

    def body() -> ir.Value:
        indices = [e.iteration(d) for d in range(len(new))]
        word = e.constant(0, wide)
        for k in range(ratio):
            last = e.add(e.mul(indices[-1], e.constant(ratio, e.i64)), e.constant(k, e.i64))
            part = e.op("arith.extui", wide, e.extract(value, [*indices[:-1], last]))
            word = e.binary("ori", word, e.binary("shli", part, e.constant(k * before, wide)))
        return word

    return e.generic(new, wide, [], body)
