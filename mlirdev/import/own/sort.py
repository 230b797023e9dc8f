"""own.sort(x, dim, descending): the permutation that sorts each line, stable, NaN as the greatest.

A bottom-up merge sort of indices. Two lines of them, in one tensor of shape (2, …), take turns as source
and destination; the widths double until one run is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.graph import Node

from .. import dims
from ..emitter import Emitter
from .registry import own
from .scalar import is_unsigned


class _Line:
    """The sort of one line of x; `at` is its place in the other dims."""

    def __init__(self, e: Emitter, node: Node, source: ir.Value, at: list[ir.Value]) -> None:
        x, dim, descending = node.args
        assert isinstance(dim, int)
        self.e, self.source, self.at, self.dim, self.descending = e, source, at, dim, bool(descending)
        self.dtype = e.spec(x).dtype
        self.size = dims.static(e.spec(x).shape[dim])

    def place(self, i: ir.Value) -> list[ir.Value]:
        return [*self.at[: self.dim], i, *self.at[self.dim :]]

    def index(self, indices: ir.Value, half: int, i: ir.Value) -> ir.Value:
        last = self.number(self.size - 1)
        return self.e.extract(indices, [self.number(half), *self.place(self.e.binary("minsi", i, last))])

    def number(self, value: int) -> ir.Value:
        return self.e.constant(value, self.e.i64)

    def before(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether a goes strictly before b."""
        e = self.e
        if self.dtype.is_float:
            first, second = (a, b) if self.descending else (b, a)
            nan = e.binary("andi", e.cmp("uno", first, first), e.cmp("ord", second, second))
            return e.binary("ori", e.cmp("ogt" if self.descending else "olt", a, b), nan)
        sign = "u" if is_unsigned(self.dtype) else "s"
        return e.cmp(sign + ("gt" if self.descending else "lt"), a, b)

    def merged(self, indices: ir.Value, width: int, half: int) -> ir.Value:
        """One pass: runs of `width` in `half` become runs of twice that in the other half."""
        e = self.e
        begin, end, step = (e.constant(v, e.index) for v in (0, self.size, 1))
        operands = [begin, end, step, indices, self.number(0), self.number(0)]
        types = [indices.type, e.i64, e.i64]
        loop = ir.Operation.create("scf.for", results=types, operands=operands, regions=1)
        block = ir.Block.create_at_start(loop.regions[0], [e.index, *types], [loop.location] * 4)
        with ir.InsertionPoint(block):
            k, carried, left, right = block.arguments
            e.builder.create("scf.yield", [], self._step(e.to_i64(k), carried, left, right, width, half))
        return loop.results[0]

    def _step(
        self, k: ir.Value, indices: ir.Value, left: ir.Value, right: ir.Value, width: int, half: int
    ) -> list[ir.Value]:
        """Put the next index of the two runs at k."""
        e, one, size = self.e, self.number(1), self.number(self.size)
        offset = e.binary("remui", k, self.number(2 * width))
        start = e.binary("subi", k, offset)
        middle = e.binary("minsi", e.add(start, self.number(width)), size)
        end = e.binary("minsi", e.add(start, self.number(2 * width)), size)
        fresh = e.cmp("eq", offset, self.number(0))
        left, right = e.select(fresh, start, left), e.select(fresh, middle, right)
        i, j = self.index(indices, half, left), self.index(indices, half, right)
        beaten = self.before(e.extract(self.source, self.place(j)), e.extract(self.source, self.place(i)))
        from_right = e.binary("andi", e.cmp("slt", right, end), e.binary("ori", e.cmp("sge", left, middle), beaten))
        written = e.insert(e.select(from_right, j, i), indices, [self.number(1 - half), *self.place(k)])
        return [
            written,
            e.select(from_right, left, e.add(left, one)),
            e.select(from_right, e.add(right, one), right),
        ]


@own("own.sort")
def sort(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, _ = node.args
    assert isinstance(dim, int)
    shape = e.spec(x).shape
    size, source = dims.static(shape[dim]), e.tensor(x)
    widths = [1 << i for i in range(max(size - 1, 0).bit_length())]
    start = e.generic((2, *shape), e.i64, [], lambda: e.iteration(dim + 1))

    def body(at: list[ir.Value], indices: ir.Value) -> ir.Value:
        line = _Line(e, node, source, at)
        for i, width in enumerate(widths):
            indices = line.merged(indices, width, i % 2)
        return indices

    outer = [e.dim(d) for i, d in enumerate(shape) if i != dim]
    done = e.loops(outer, start, body)
    half = e.constant(len(widths) % 2, e.i64)

    def result() -> ir.Value:
        return e.extract(done, [half, *(e.iteration(d) for d in range(len(shape)))])

    return [e.generic(shape, e.i64, [], result)]
