"""Put mlirdev.attention and its backward on buffers before one-shot-bufferize, which doesn't know them.

A result that goes straight into its destination is written there; others get buffers of their own.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD
from mlirdev.passes.ops import emit, index_constant, named, users
from mlirdev.target import Target

NAME = "bufferize-attention"
_MATERIALIZE = "bufferization.materialize_in_destination"


def run(module: ir.Module, target: Target) -> None:
    for op in [*named(module, ATTENTION), *named(module, ATTENTION_BACKWARD)]:
        if op.results:
            _bufferize(op)


def _bufferize(op: Any) -> None:
    count = len(op.results)
    inputs, outputs = list(op.operands)[:-count], list(op.operands)[-count:]
    destinations = [_destination(result) for result in op.results]
    place = op
    for destination in destinations:
        # Destinations may be views that are made behind the op.
        if destination is not None and place.is_before_in_block(destination):
            place = destination
    attributes = {name: op.attributes[name] for name in op.attributes}
    attributes["resultSegmentSizes"] = ir.DenseI32ArrayAttr.get([0] * count)
    with ir.InsertionPoint(place), op.location:
        memory = [
            _allocate(out) if destination is None else destination.operands[1]
            for destination, out in zip(destinations, outputs, strict=True)
        ]
        ir.Operation.create(op.name, operands=[*map(_to_buffer, inputs), *memory], attributes=attributes)
        for result, destination, written in zip(op.results, destinations, memory, strict=True):
            if destination is None:
                result.replace_all_uses_with(_to_tensor(written, result.type))
    for done in (*destinations, op):
        if done is not None:
            done.erase()


def _destination(result: Any) -> Any | None:
    """The op that puts a result where the caller wants it, if that is its only use."""
    found = users(result)
    return found[0] if len(found) == 1 and found[0].name == _MATERIALIZE else None


def _to_buffer(value: Any) -> Any:
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, [dynamic] * value.type.rank)
    type_ = ir.MemRefType.get(value.type.shape, value.type.element_type, layout=layout)
    return emit("bufferization.to_buffer", [type_], [value], read_only=ir.UnitAttr.get())


def _allocate(out: Any) -> Any:
    sizes = [
        emit("tensor.dim", [ir.IndexType.get()], [out, index_constant(position)])
        for position, size in enumerate(out.type.shape)
        if size < 0
    ]
    type_ = ir.MemRefType.get(out.type.shape, out.type.element_type)
    return emit("memref.alloc", [type_], sizes, operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(sizes), 0]))


def _to_tensor(memory: Any, type_: Any) -> Any:
    unit = ir.UnitAttr.get()
    return emit("bufferization.to_tensor", [type_], [memory], restrict=unit, writable=unit)
