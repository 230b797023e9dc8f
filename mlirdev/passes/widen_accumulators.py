"""Sum and multiply bf16 and f16 in f32, as PyTorch does: a reduction's running value is rounded once, at the end.

generic (bf16) reduction  ──►  extf of its initial value; generic accumulating in f32; truncf
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.ops import constant, emit, kernel_function, walk
from mlirdev.target import Target

NAME = "widen-accumulators"
_NARROW = (ir.BF16Type, ir.F16Type)
_KEPT = ("indexing_maps", "iterator_types", "operandSegmentSizes")


def run(module: ir.Module, target: Target) -> None:
    for op in walk(kernel_function(module)):
        if op.name == "linalg.generic" and _accumulates_narrowly(op):
            _widen(op)


def _accumulates_narrowly(op: Any) -> bool:
    if all("parallel" in str(a) for a in op.attributes["iterator_types"]):
        return False
    arithmetic = any(v.operation.name in ("arith.addf", "arith.mulf") for v in op.regions[0].blocks[0].operations)
    return arithmetic and all(isinstance(r.type.element_type, _NARROW) for r in op.results)


def _widen(op: Any) -> None:
    count = len(op.results)
    inputs, initial = list(op.operands)[:-count], list(op.operands)[-count:]
    with ir.InsertionPoint(op), op.location:
        wide = [_widened(value) for value in initial]
        types = [w.type for w in wide]
        new = ir.Operation.create(
            "linalg.generic",
            results=types,
            operands=[*inputs, *wide],
            attributes={name: op.attributes[name] for name in _KEPT},
            regions=1,
        )
        _clone_wide(op, new, [_element(v) for v in inputs] + [ir.F32Type.get()] * count)
        for old, result in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(_cast(result, old.type, "arith.truncf"))
    op.erase()


def _element(value: Any) -> Any:
    return value.type.element_type if isinstance(value.type, ir.ShapedType) else value.type


def _widened(initial: Any) -> Any:
    """The initial value in f32; a fill is filled anew."""
    type_ = ir.RankedTensorType.get(initial.type.shape, ir.F32Type.get())
    return _cast(initial, type_, "arith.extf")


def _cast(value: Any, type_: Any, name: str) -> Any:
    """An elementwise generic that casts a tensor."""
    identity = ir.AffineMapAttr.get(ir.AffineMap.get_identity(type_.rank))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    op = ir.Operation.create(
        "linalg.generic",
        results=[type_],
        operands=[value, _empty_like(value, type_)],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([identity, identity]),
            "iterator_types": ir.ArrayAttr.get([parallel] * type_.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1]),
        },
        regions=1,
    )
    elements = [value.type.element_type, type_.element_type]
    block = ir.Block.create_at_start(op.regions[0], elements)
    with ir.InsertionPoint(block):
        emit("linalg.yield", [], [emit(name, [type_.element_type], [block.arguments[0]])])
    return op.results[0]


def _empty_like(value: Any, type_: Any) -> Any:
    sizes = []
    for position, size in enumerate(type_.shape):
        if size < 0:
            number = constant(ir.IndexType.get(), position)
            sizes.append(emit("tensor.dim", [ir.IndexType.get()], [value, number]))
    return emit("tensor.empty", [type_], sizes)


def _clone_wide(op: Any, new: Any, elements: list[Any]) -> None:
    """Copy the body with every narrow float as f32."""
    f32 = ir.F32Type.get()
    block = ir.Block.create_at_start(new.regions[0], elements)
    values: dict[Any, Any] = {}
    with ir.InsertionPoint(block):
        for old, argument in zip(op.regions[0].blocks[0].arguments, block.arguments, strict=True):
            values[old] = emit("arith.extf", [f32], [argument]) if isinstance(argument.type, _NARROW) else argument
        for view in op.regions[0].blocks[0].operations:
            _clone_op_wide(view.operation, values, f32)


def _clone_op_wide(op: Any, values: dict[Any, Any], f32: Any) -> None:
    operands = [_wide_value(v, values, f32) for v in op.operands]
    with op.location:
        if op.name in ("arith.extf", "arith.truncf") and all(v.type == f32 for v in operands):
            is_wider = op.results[0].type == ir.F64Type.get()
            values[op.results[0]] = emit("arith.extf", [op.results[0].type], operands) if is_wider else operands[0]
            return
        types = [f32 if isinstance(r.type, _NARROW) else r.type for r in op.results]
        attributes = {name: op.attributes[name] for name in op.attributes}
        if op.name == "arith.constant" and types != [r.type for r in op.results]:
            attributes["value"] = ir.FloatAttr.get(f32, ir.FloatAttr(op.attributes["value"]).value)
        copy = ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes)
    values.update(zip(op.results, copy.results, strict=True))


def _wide_value(value: Any, values: dict[Any, Any], f32: Any) -> Any:
    if value in values:
        return values[value]
    return emit("arith.extf", [f32], [value]) if isinstance(value.type, _NARROW) else value
