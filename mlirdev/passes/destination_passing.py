"""Turn @kernel's tensor boundary into the kernel calling convention: results are written where the caller says.

    func @kernel(tensor, f64, …) -> tensor
      ──►  func @kernel(error: memref<4xi64>, thread: index, threads: index, workspace: memref<?xi8>,
                           memref, f64, …, memref)

Every run-time size becomes the `index` parameter that holds it, where the function says which that is (attribute
`mlirdev.dims`: per run-time dim, over the buffers of params and then results, the position of its parameter). So
equal sizes are one value, and loops over them can be seen to be equal.

Each result is materialised in its memref, so eliminate-empty-tensors lets it be computed in place. A reshape at
the end is undone on the destination instead: it would otherwise cost a copy.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.ops import defining_op, emit, entry_block, kernel_function, named
from mlirdev.passes.sizes import DIMS, size_argument
from mlirdev.target import Target

NAME = "destination-passing"
_RESHAPES = {"tensor.expand_shape": "memref.collapse_shape", "tensor.collapse_shape": "memref.expand_shape"}


def run(module: ir.Module, target: Target) -> None:
    function = kernel_function(module)
    block = entry_block(function)
    params = list(block.arguments)
    results = list(function_type(function).results)
    leading = [ir.Type.parse(t) for t in ("memref<4xi64>", "index", "index", "memref<?xi8>")]
    types = [*leading, *(boundary_type(p.type) for p in params), *(boundary_type(r) for r in results)]
    added = [block.add_argument(t, ir.Location.unknown()) for t in types]
    with ir.InsertionPoint.at_block_begin(block):
        for param, argument in zip(params, added[len(leading) :], strict=False):
            param.replace_all_uses_with(_as_tensor(argument, param.type))
    for _ in params:
        block.erase_argument(0)
    _name_sizes(function, block, len(leading))
    _write_results(block, list(block.arguments)[len(types) - len(results) :])
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))


def function_type(function: Any) -> Any:
    return ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)


def boundary_type(type_: Any) -> Any:
    """The dense memref of a tensor type; any other type unchanged."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    return ir.MemRefType.get(type_.shape, type_.element_type)


def _as_tensor(argument: Any, type_: Any) -> Any:
    if not isinstance(type_, ir.RankedTensorType):
        return argument
    return emit("bufferization.to_tensor", [type_], [argument], restrict=ir.UnitAttr.get())


def _name_sizes(function: Any, block: Any, leading: int) -> None:
    """Renumber the sizes' positions for the new arguments, and use the sizes instead of asking the buffers."""
    if DIMS not in function.attributes:
        return
    positions = list(ir.DenseI64ArrayAttr(function.attributes[DIMS]))
    function.attributes[DIMS] = ir.DenseI64ArrayAttr.get([p + leading for p in positions])
    for op in named(function, "tensor.dim"):
        source = defining_op(op.operands[0])
        number = defining_op(op.operands[1])
        if source is None or source.name != "bufferization.to_tensor" or number is None:
            continue
        size = size_argument(source.operands[0], ir.IntegerAttr(number.attributes["value"]).value)
        if size is not None:
            op.results[0].replace_all_uses_with(size)
            op.erase()


def _write_results(block: Any, destinations: list[Any]) -> None:
    terminator = block.operations[len(block.operations) - 1].operation
    unit = ir.UnitAttr.get()
    with ir.InsertionPoint(terminator):
        for value, destination in zip(list(terminator.operands), destinations, strict=True):
            source, memory = _undo_reshapes(value, destination)
            emit("bufferization.materialize_in_destination", [], [source, memory], restrict=unit, writable=unit)
        emit("func.return", [])
    terminator.erase()


def _undo_reshapes(value: Any, memory: Any) -> tuple[Any, Any]:
    """Walk up through static reshapes of the result, reshaping the destination the other way."""
    while (op := defining_op(value)) is not None and op.name in _RESHAPES:
        source = op.operands[0]
        if not (source.type.has_static_shape and value.type.has_static_shape):
            return value, memory
        attributes = {"reassociation": op.attributes["reassociation"]}
        if op.name == "tensor.collapse_shape":
            attributes["static_output_shape"] = ir.DenseI64ArrayAttr.get(list(source.type.shape))
        memory = emit(_RESHAPES[op.name], [boundary_type(source.type)], [memory], **attributes)
        value = source
    return value, memory
