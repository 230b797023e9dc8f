"""Write loops and index arithmetic: sizes are ints where they are known, values where they aren't, and fold early."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from torch_mlir import ir

from mlirdev.passes.ops import emit, index_constant

Index: TypeAlias = Any  # an int, or a value of type index


def as_value(index: Index) -> Any:
    return index_constant(index) if isinstance(index, int) else index


def _binary(name: str, a: Index, b: Index) -> Any:
    return emit(name, [ir.IndexType.get()], [as_value(a), as_value(b)])


def add(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return _binary("arith.addi", a, b)


def subtract(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    return a if isinstance(b, int) and b == 0 else _binary("arith.subi", a, b)


def multiply(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, int) and x == 0:
            return 0
        if isinstance(x, int) and x == 1:
            return y
    return _binary("arith.muli", a, b)


def minimum(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return _binary("arith.minsi", a, b)


def maximum(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return _binary("arith.maxsi", a, b)


def divide_up(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    if isinstance(b, int) and b == 1:
        return a
    return _binary("arith.divui", add(a, subtract(b, 1)), b)


def divide(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return a if isinstance(b, int) and b == 1 else _binary("arith.divui", a, b)


def remainder(a: Index, b: Index) -> Index:
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return _binary("arith.remui", a, b)


def product(sizes: Sequence[Index]) -> Index:
    result: Index = 1
    for size in sizes:
        result = multiply(result, size)
    return result


def unflatten(flat: Index, sizes: Sequence[Index]) -> list[Index]:
    """The coordinates, outermost first, of element number `flat` of a row-major box."""
    coordinates: list[Index] = []
    for size in reversed(sizes[1:]):
        coordinates.append(remainder(flat, size))
        flat = divide(flat, size)
    return [flat, *reversed(coordinates)] if sizes else []


def flatten_index(coordinates: Sequence[Index], sizes: Sequence[Index]) -> Index:
    """The number of an element of a row-major box: the inverse of `unflatten`."""
    flat: Index = 0
    for position, size in zip(coordinates, sizes, strict=True):
        flat = add(multiply(flat, size), position)
    return flat


def strided(start: Index, number: Index, sizes: Sequence[Index], strides: Sequence[Index]) -> Index:
    """Where element `number` of a row-major box of these sizes lies, whose first one is at `start`."""
    for position, stride in zip(unflatten(number, sizes), strides, strict=True):
        start = add(start, multiply(position, stride))
    return start


def alloc(shape: Sequence[int], element: Any) -> Any:
    """A buffer of a static shape: scratch of the kernel's workspace."""
    segments = ir.DenseI32ArrayAttr.get([0, 0])
    return emit("memref.alloc", [ir.MemRefType.get(list(shape), element)], operandSegmentSizes=segments)


_INDEX_PREDICATES = {"eq": 0, "slt": 2, "sle": 3, "ult": 6, "uge": 9}


def compare(predicate: str, a: Index, b: Index) -> Any:
    """An i1, of two sizes or places."""
    i1, i64 = (ir.IntegerType.get_signless(width) for width in (1, 64))
    code = ir.IntegerAttr.get(i64, _INDEX_PREDICATES[predicate])
    return emit("arith.cmpi", [i1], [as_value(a), as_value(b)], predicate=code)


@dataclass
class Loop:
    """A loop being written: `iv`, the values it carries, and (set inside) what it yields; `results` afterwards."""

    iv: Any
    carried: list[Any]
    yields: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


# On an scf.for: threads may share its iterations. None touches what another one writes, not in another run of the loop
# either (if a loop is around it), but for scratch that an iteration writes before it reads.
PARALLEL = "mlirdev.parallel"


@contextmanager
def for_loop(
    start: Index, stop: Index, step: Index = 1, carried: Sequence[Any] = (), *, parallel: bool = False
) -> Iterator[Loop]:
    """Write an scf.for; what is emitted inside goes into its body."""
    bounds = [as_value(start), as_value(stop), as_value(step)]
    op = ir.Operation.create("scf.for", results=[v.type for v in carried], operands=[*bounds, *carried], regions=1)
    if parallel:
        op.attributes[PARALLEL] = ir.UnitAttr.get()
    block = ir.Block.create_at_start(op.regions[0], [ir.IndexType.get(), *(v.type for v in carried)])
    iv, *inside = block.arguments
    loop = Loop(iv, list(inside))
    with ir.InsertionPoint(block):
        yield loop
        emit("scf.yield", [], loop.yields)
    loop.results = list(op.results)


@contextmanager
def insert_into(region: Any) -> Iterator[None]:
    """Write the only block of a region without arguments; its terminator is the caller's."""
    with ir.InsertionPoint(ir.Block.create_at_start(region, [])):
        yield
