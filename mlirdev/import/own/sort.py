"""Merge sort: the stable permutation that sorts lines, NaN as the greatest.

own.sort(x, dim, descending)     of each line along dim
mlirdev.sort_lines(x)            of a matrix's rows, compared element by element from the left

Bottom up, of indices: two lines of them, in one tensor of shape (2, …), take turns as source and destination; the
widths double until one run is left. Sizes may be known only when run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Node
from mlirdev.plan import PlanDim

from ..emitter import Emitter
from .registry import own
from .scalar import is_unsigned

# Whether the element at the first place goes strictly before that at the second.
Before = Callable[[ir.Value, ir.Value], ir.Value]
Place = Callable[[ir.Value], "list[ir.Value]"]


def precedes(e: Emitter, dtype: DType, descending: bool, a: ir.Value, b: ir.Value) -> ir.Value:
    """Whether a goes strictly before b."""
    if dtype.is_float:
        first, second = (a, b) if descending else (b, a)
        nan = e.binary("andi", e.cmp("uno", first, first), e.cmp("ord", second, second))
        return e.binary("ori", e.cmp("ogt" if descending else "olt", a, b), nan)
    sign = "u" if is_unsigned(dtype) else "s"
    return e.cmp(sign + ("gt" if descending else "lt"), a, b)


class _MergeSort:
    """The sort of one line of indices; `place` tells where in the tensor, behind the half, the i-th of them is."""

    def __init__(self, e: Emitter, size: PlanDim, place: Place, before: Before) -> None:
        self.e, self.place, self.before = e, place, before
        self.size = e.dim_i64(size)
        self.one = e.constant(1, e.i64)
        self.last = e.binary("subi", self.size, self.one)

    def passes(self) -> ir.Value:
        """How often the width doubles: the bits of size - 1."""
        e = self.e
        nothing = e.constant(0, e.i64)
        return e.binary("subi", e.constant(64, e.i64), e.op("math.ctlz", e.i64, e.binary("maxsi", self.last, nothing)))

    def sorted(self, indices: ir.Value) -> ir.Value:
        e = self.e

        def merge(at: list[ir.Value], carried: ir.Value) -> ir.Value:
            number = e.to_i64(at[0])
            return self._merged(carried, e.binary("shli", self.one, number), e.binary("andi", number, self.one))

        return e.loops([e.to_index(self.passes())], indices, merge)

    def _merged(self, indices: ir.Value, width: ir.Value, half: ir.Value) -> ir.Value:
        """One pass: runs of `width` in `half` become runs of twice that in the other half."""
        e = self.e
        start = e.constant(0, e.i64)

        def step(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
            return self._step(e.to_i64(at[0]), carried, width, half)

        return e.nest([e.to_index(self.size)], [indices, start, start], step)[0]

    def _step(self, k: ir.Value, carried: list[ir.Value], width: ir.Value, half: ir.Value) -> list[ir.Value]:
        """Put the next index of the two runs at k."""
        e, one, size = self.e, self.one, self.size
        indices, left, right = carried
        double = e.add(width, width)
        offset = e.binary("andi", k, e.binary("subi", double, one))
        start = e.binary("subi", k, offset)
        middle = e.binary("minsi", e.add(start, width), size)
        end = e.binary("minsi", e.add(start, double), size)
        fresh = e.cmp("eq", offset, e.constant(0, e.i64))
        left, right = e.select(fresh, start, left), e.select(fresh, middle, right)
        i, j = self._index(indices, half, left), self._index(indices, half, right)
        exhausted = e.cmp("sge", left, middle)
        from_right = e.binary("andi", e.cmp("slt", right, end), e.binary("ori", exhausted, self.before(j, i)))
        other = e.binary("subi", one, half)
        written = e.insert(e.select(from_right, j, i), indices, [other, *self.place(k)])
        return [
            written,
            e.select(from_right, left, e.add(left, one)),
            e.select(from_right, e.add(right, one), right),
        ]

    def _index(self, indices: ir.Value, half: ir.Value, i: ir.Value) -> ir.Value:
        return self.e.extract(indices, [half, *self.place(self.e.binary("minsi", i, self.last))])


@own("own.sort")
def sort(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, descending = node.args
    assert isinstance(dim, int)
    spec, source = e.spec(x), e.tensor(x)
    shape, size = spec.shape, spec.shape[dim]

    def body(at: list[ir.Value], indices: ir.Value) -> ir.Value:
        def place(i: ir.Value) -> list[ir.Value]:
            return [*at[:dim], i, *at[dim:]]

        def before(i: ir.Value, j: ir.Value) -> ir.Value:
            return precedes(e, spec.dtype, bool(descending), e.extract(source, place(i)), e.extract(source, place(j)))

        return _MergeSort(e, size, place, before).sorted(indices)

    start = e.generic((2, *shape), e.i64, [], lambda: e.iteration(dim + 1))
    done = e.loops([e.dim(d) for i, d in enumerate(shape) if i != dim], start, body)
    return [_final(e, done, size, shape)]


@own("mlirdev.sort_lines")
def sort_lines(e: Emitter, node: Node) -> Sequence[ir.Value]:
    spec, source = e.spec(node.args[0]), e.tensor(node.args[0])
    size, width = spec.shape

    def before(i: ir.Value, j: ir.Value) -> ir.Value:
        """The first element that differs decides."""
        undecided, no = e.constant(1, e.i1), e.constant(0, e.i1)

        def compare(at: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
            open_, answer = carried
            a, b = e.extract(source, [i, at[0]]), e.extract(source, [j, at[0]])
            less, more = precedes(e, spec.dtype, False, a, b), precedes(e, spec.dtype, False, b, a)
            decided = e.binary("ori", less, more)
            return [e.select(decided, no, open_), e.select(open_, less, answer)]

        return e.nest([e.dim(width)], [undecided, no], compare)[1]

    start = e.generic((2, size), e.i64, [], lambda: e.iteration(1))
    done = _MergeSort(e, size, lambda i: [i], before).sorted(start)
    return [_final(e, done, size, (size,))]


def _final(e: Emitter, indices: ir.Value, size: PlanDim, shape: tuple[PlanDim, ...]) -> ir.Value:
    """The half that was written last."""
    count = _MergeSort(e, size, lambda i: [i], lambda i, j: i).passes()
    half = e.binary("andi", count, e.constant(1, e.i64))

    def body() -> ir.Value:
        return e.extract(indices, [half, *(e.iteration(d) for d in range(len(shape)))])

    return e.generic(shape, e.i64, [], body)
