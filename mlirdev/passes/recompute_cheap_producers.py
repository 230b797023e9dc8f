"""Compute what is cheap again where it is read, rather than once and through memory.

    c = x - m;  v = sum(c * c);  y = c * r      ──►      v = sum((x - m)²);  y = (x - m) * r

Each generic that reads such a result gets a clone of the producer, which `linalg-fuse-elementwise-ops` then takes in: a
subtraction costs less than a store and a load of an element, and far less where rows don't fit in the cache.
"""

from __future__ import annotations

from typing import Any

from torch_mlir import ir

from mlirdev.passes.linalg_info import loop_nest
from mlirdev.passes.op_graph import entry_function
from mlirdev.passes.ops import entry_block
from mlirdev.target import Target

NAME = "recompute-cheap-producers"

# What takes a cycle or so of a vector unit.
_CHEAP = frozenset(
    f"arith.{name}"
    for name in (
        *("addf", "subf", "mulf", "negf", "cmpf", "maximumf", "minimumf", "extf", "truncf", "constant", "select"),
        *("addi", "subi", "cmpi", "andi", "ori", "xori", "index_cast", "extsi", "extui"),
    )
) | {"linalg.index", "linalg.yield"}


def run(module: ir.Module, target: Target, *, most_ops: int = 12, most_tensors: int = 2) -> None:
    """Last producer first, so that a chain of cheap ones is taken in whole. `most_tensors` of full size may a producer
    read: more than one lives longer where its result was kept instead."""
    for view in reversed(list(entry_block(entry_function(module)).operations)):
        if is_cheap(view.operation, most_ops) and _tensors_of_full_size(view.operation) <= most_tensors:
            _clone_for_readers(view.operation)


def is_cheap(op: Any, most_ops: int) -> bool:
    """Whether an op is a generic without reductions whose body is small and takes no costly step per element; of what
    is the same along a row, anything may be computed."""
    if op.name != "linalg.generic" or len(op.results) != 1 or not loop_nest(op).is_parallel:
        return False
    block = op.regions[0].blocks[0]
    body = [view.operation for view in block.operations]
    if len(body) > most_ops or any(inner.regions for inner in body):
        return False
    nest = loop_nest(op)
    moving = {a for a, m in zip(block.arguments, nest.maps, strict=True) if len(m) == len(nest.parallel)}
    for inner in body:
        if inner.name == "linalg.index" or any(operand in moving for operand in inner.operands):
            if inner.name not in _CHEAP:
                return False
            moving.update(inner.results)
    return all(inner.name in _CHEAP or inner.name.startswith(("arith.", "math.")) for inner in body)


def _clone_for_readers(op: Any) -> None:
    result = op.results[0]
    readers = list(dict.fromkeys(use.owner.operation for use in result.uses))
    if len(readers) < 2 or not all(_reads_each_once(reader, result) for reader in readers):
        return
    # Two tensors read again cost as much as one written and read; more than that, or more often, cost more.
    if (_tensors_of_full_size(op) - 1) * (len(readers) - 1) > 1:
        return
    for reader in readers[1:]:
        with ir.InsertionPoint(reader):
            clone = op.clone()
        for position, operand in enumerate(reader.operands):
            if operand == result:
                reader.operands[position] = clone.results[0]


def _reads_each_once(reader: Any, value: Any) -> bool:
    """Whether an op is a generic that looks at every element of an input once."""
    if reader.name != "linalg.generic" or value in list(reader.operands)[-len(reader.results) :]:
        return False
    nest = loop_nest(reader)
    maps = [m for operand, m in zip(reader.operands, nest.maps, strict=True) if operand == value]
    return all(set(m) == set(range(len(nest.parallel))) for m in maps)


def _tensors_of_full_size(op: Any) -> int:
    nest = loop_nest(op)
    return sum(len(m) == len(nest.parallel) for m in nest.maps[:-1])
