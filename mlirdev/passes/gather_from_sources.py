"""Gather from what a cheap elementwise result is computed of, and compute only what is gathered.

    y = x - m - log(s);  … y[i, t[i]] …      ──►      … x[i, t[i]] - m[i] - log(s[i]) …

A gather is then no reason to have the whole of y in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch_mlir import ir

from mlirdev.passes.linalg_info import loop_nest
from mlirdev.passes.ops import defining_op, emit, kernel_function, named
from mlirdev.passes.recompute_cheap_producers import is_cheap
from mlirdev.target import Target

NAME = "gather-from-sources"


def run(module: ir.Module, target: Target, *, most_ops: int = 12) -> None:
    pending = named(kernel_function(module), "tensor.extract")
    while pending:
        gather = pending.pop()
        producer = defining_op(gather.operands[0])
        if producer is not None and is_cheap(producer, most_ops) and _is_identity(producer):
            pending += _inline(gather, producer)


def _is_identity(producer: Any) -> bool:
    """Whether each loop counts along the result's dim of its number, and all else is read along whole dims."""
    nest = loop_nest(producer)
    block = producer.regions[0].blocks[0]
    return (
        nest.maps[-1] == tuple(range(len(nest.parallel)))
        and all(d is not None for m in nest.maps for d in m)
        and not any(True for _ in list(block.arguments)[-1].uses)
    )


def _inline(gather: Any, producer: Any) -> list[Any]:
    """Put the body in place of the gather; the gathers that it needs, which may go further up."""
    place = list(gather.operands)[1:]
    block = producer.regions[0].blocks[0]
    gathers = []
    with ir.InsertionPoint(gather), gather.location:
        values: dict[Any, Any] = {}
        for argument, source, dims in zip(block.arguments, producer.operands, loop_nest(producer).maps, strict=True):
            if any(True for _ in argument.uses):
                values[argument] = _element(source, [place[d] for d in dims if d is not None])
                gathers.append(values[argument])
        result = _computed(block, values, place)
    gather.results[0].replace_all_uses_with(result)
    gather.erase()
    return [op for g in gathers if (op := defining_op(g)) is not None and op.name == "tensor.extract"]


def _element(source: Any, place: Sequence[Any]) -> Any:
    if not isinstance(source.type, ir.RankedTensorType):
        return source
    return emit("tensor.extract", [source.type.element_type], [source, *place])


def _computed(block: Any, values: dict[Any, Any], place: Sequence[Any]) -> Any:
    for view in block.operations:
        op = view.operation
        if op.name == "linalg.yield":
            return values.get(op.operands[0], op.operands[0])
        if op.name == "linalg.index":
            values[op.results[0]] = place[ir.IntegerAttr(op.attributes["dim"]).value]
            continue
        copy = op.clone()
        for position, operand in enumerate(op.operands):
            copy.operands[position] = values.get(operand, operand)
        values.update(zip(op.results, copy.results, strict=True))
    raise ValueError("a linalg body has no yield")
