"""Moving elements: the tensor dialect's slices, pads and concatenation, and generics that only copy."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from ..dims import Shape, ints_of, size_of
from ..emitter import Emitter
from .registry import own
from .scalar import broadcast_map


def _copy(e: Emitter, value: ir.Value, access: Sequence[int | ir.AffineExpr | None], shape: Shape) -> ir.Value:
    element = ir.RankedTensorType(value.type).element_type
    return e.generic(shape, element, [(value, access)], lambda x: x)


@own("own.expand")
def expand(e: Emitter, node: Node) -> Sequence[ir.Value]:
    shape = node.results[0].shape
    return [_copy(e, e.tensor(node.args[0]), broadcast_map(e.spec(node.args[0]).shape, shape), shape)]


@own("own.permute")
def permute(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """linalg.transpose, which contractions fold into their maps."""
    x, order = node.args
    spec, permutation = node.results[0], ints_of(order)
    out = e.empty(spec.shape, e.element_type(spec.dtype))
    operation = ir.Operation.create(
        "linalg.transpose",
        results=[out.type],
        operands=[e.tensor(x), out],
        attributes={"permutation": ir.DenseI64ArrayAttr.get(permutation)},
        regions=1,
    )
    element = e.element_type(spec.dtype)
    block = ir.Block.create_at_start(operation.regions[0], [element] * 2, [operation.location] * 2)
    with ir.InsertionPoint(block):
        e.builder.create("linalg.yield", [], [block.arguments[0]])
    return list(operation.results)


@own("own.flip")
def flip(e: Emitter, node: Node) -> Sequence[ir.Value]:
    """Sizes known when compiled read by a reversed map; others by their place."""
    x, over = node.args
    shape, axes = node.results[0].shape, set(ints_of(over))
    source = e.tensor(x)
    if all(isinstance(shape[d], int) for d in axes):
        d = [ir.AffineExpr.get_dim(i) for i in range(len(shape))]
        reversed_map = [size - 1 - d[i] if i in axes and isinstance(size, int) else i for i, size in enumerate(shape)]
        return [_copy(e, source, reversed_map, shape)]

    def body() -> ir.Value:
        at = [e.iteration(d) for d in range(len(shape))]
        last = {d: e.binary("subi", e.dim_i64(shape[d]), e.constant(1, e.i64)) for d in axes}
        return e.extract(source, [e.binary("subi", last[d], i) if d in axes else i for d, i in enumerate(at)])

    return [e.generic(shape, e.element_type(node.results[0].dtype), [], body)]


@own("own.slice")
def slice_(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, start, step = node.args
    spec = node.results[0]
    attributes, runtime = _window(e, spec.shape, dim, start, step)
    return [e.op("tensor.extract_slice", e.tensor_type(spec), e.tensor(x), *runtime, attributes=attributes)]


@own("own.write_slice")
def write_slice(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, source, dim, start, step = node.args
    attributes, runtime = _window(e, e.spec(source).shape, dim, start, step)
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, *_segments(attributes)])
    spec = node.results[0]
    operands = [e.tensor(source), e.tensor(x), *runtime]
    return [e.op("tensor.insert_slice", e.tensor_type(spec), *operands, attributes=attributes)]


def _segments(attributes: dict[str, ir.Attribute]) -> list[int]:
    """How many run-time offsets, sizes and strides there are."""
    dynamic = ir.ShapedType.get_dynamic_size()
    return [sum(v == dynamic for v in attributes[f"static_{n}"]) for n in ("offsets", "sizes", "strides")]


def _window(
    e: Emitter, shape: Shape, dim: object, start: object, step: object
) -> tuple[dict[str, ir.Attribute], list[ir.Value]]:
    assert isinstance(dim, int)
    assert isinstance(step, int)
    first = size_of(start)  # type: ignore[arg-type]
    dynamic = ir.ShapedType.get_dynamic_size()
    offsets = [first if i == dim else 0 for i in range(len(shape))]
    runtime = [e.dim(v) for v in (*offsets, *shape) if not isinstance(v, int)]
    fixed = [[v if isinstance(v, int) else dynamic for v in values] for values in (offsets, shape)]
    strides = [step if i == dim else 1 for i in range(len(shape))]
    attributes: dict[str, ir.Attribute] = {
        "static_offsets": ir.DenseI64ArrayAttr.get(fixed[0]),
        "static_sizes": ir.DenseI64ArrayAttr.get(fixed[1]),
        "static_strides": ir.DenseI64ArrayAttr.get(strides),
    }
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, *_segments(attributes)])
    return attributes, runtime


@own("own.concat")
def concat(e: Emitter, node: Node) -> Sequence[ir.Value]:
    refs, dim = node.args
    assert isinstance(refs, tuple)
    assert isinstance(dim, int)
    attributes = {"dim": ir.IntegerAttr.get(e.i64, dim)}
    return [e.op("tensor.concat", e.tensor_type(node.results[0]), *[e.tensor(r) for r in refs], attributes=attributes)]


@own("own.pad")
def pad(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, amounts, value = node.args
    spec = node.results[0]
    pairs = ints_of(amounts)
    rank = len(spec.shape)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pairs) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pairs[2 * i], pairs[2 * i + 1]
    filler = e.number(value, spec.dtype)
    attributes = {
        "static_low": ir.DenseI64ArrayAttr.get(low),
        "static_high": ir.DenseI64ArrayAttr.get(high),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0]),
    }
    operation = ir.Operation.create(
        "tensor.pad", results=[e.tensor_type(spec)], operands=[e.tensor(x)], attributes=attributes, regions=1
    )
    block = ir.Block.create_at_start(operation.regions[0], [e.index] * rank, [operation.location] * rank)
    with ir.InsertionPoint(block):
        e.builder.create("tensor.yield", [], [filler])
    return list(operation.results)
