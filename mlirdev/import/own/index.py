"""Reading and writing by index tensors: every index is checked, and writes happen in order.

own.index(x, indices)                        aten.index with integer indices (negative ones count from the end)
own.take_along(x, dim, index)                aten.gather
own.put(x, indices, values, accumulate)      aten.index_put, `values` of the full shape
own.scatter(x, dim, index, src, reduce)      aten.scatter and its kin, element by element in row-major order
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node, Ref, TensorSpec

from ..dims import Shape, broadcast
from ..emitter import Emitter
from .registry import own


class _Indexing:
    """How the result's dims of x[indices] fall on the indices' shape and on x's remaining dims."""

    def __init__(self, e: Emitter, shape: Shape, indices: Arg, wraps: bool) -> None:
        assert isinstance(indices, tuple)
        padded = [*indices, *[None] * (len(shape) - len(indices))]
        self.e, self.shape, self.wraps = e, shape, wraps
        self.tensors = {d: i for d, i in enumerate(padded) if isinstance(i, Ref)}
        common: Shape = ()
        for ref in self.tensors.values():
            common = broadcast(common, e.spec(ref).shape)
        axes = list(self.tensors)
        adjacent = axes == list(range(axes[0], axes[-1] + 1))
        # As in numpy: the indexed dims stand where the indices are if those are adjacent, else first.
        self.start = axes[0] if adjacent else 0
        self.common = common
        rest = [d for d in range(len(shape)) if d not in self.tensors]
        self.place = {d: (i if i < self.start else i + len(common)) for i, d in enumerate(rest)}
        self.operands = {d: e.tensor(ref) for d, ref in self.tensors.items()}

    def positions(self, at: Sequence[ir.Value]) -> list[ir.Value]:
        """Where in x the result's element `at` lies."""
        return [self._position(d, at) if d in self.tensors else at[self.place[d]] for d in range(len(self.shape))]

    def _position(self, d: int, at: Sequence[ir.Value]) -> ir.Value:
        spec = self.e.spec(self.tensors[d])
        offset = self.start + len(self.common) - len(spec.shape)
        zero = self.e.constant(0, self.e.i64)
        where = [zero if size == 1 else at[offset + i] for i, size in enumerate(spec.shape)]
        index = self.e.to_i64(self.e.extract(self.operands[d], where))
        return self.e.position(index, self.shape[d], self.wraps)


@own("own.index")
def index(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, indices, wraps = node.args
    spec = node.results[0]
    indexing = _Indexing(e, e.spec(x).shape, indices, bool(wraps))
    source = e.tensor(x)

    def body() -> ir.Value:
        return e.extract(source, indexing.positions([e.iteration(d) for d in range(len(spec.shape))]))

    return [e.generic(spec.shape, e.element_type(spec.dtype), [], body)]


@own("own.take_along")
def take_along(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, idx = node.args
    assert isinstance(dim, int)
    spec, source_shape = node.results[0], e.spec(x).shape
    source = e.tensor(x)

    def body(element: ir.Value) -> ir.Value:
        at = [e.iteration(d) for d in range(len(spec.shape))]
        at[dim] = e.position(e.to_i64(element), source_shape[dim], wraps=False)
        return e.extract(source, at)

    identity = list(range(len(spec.shape)))
    return [e.generic(spec.shape, e.element_type(spec.dtype), [(e.tensor(idx), identity)], body)]


@own("own.put")
def put(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, indices, values, accumulate = node.args
    spec = node.results[0]
    indexing = _Indexing(e, spec.shape, indices, wraps=True)
    source, combine = e.tensor(values), combiner(e, "sum" if accumulate else "", spec.dtype)

    def body(at: list[ir.Value], carried: ir.Value) -> ir.Value:
        where = indexing.positions([e.to_i64(i) for i in at])
        new = combine(lambda: e.extract(carried, where), e.extract(source, at))
        return e.insert(new, carried, where)

    return [e.loops([e.dim(d) for d in e.spec(values).shape], e.tensor(x), body)]


@own("own.scatter")
def scatter(e: Emitter, node: Node) -> Sequence[ir.Value]:
    x, dim, idx, src, reduce = node.args
    assert isinstance(dim, int)
    assert isinstance(reduce, str)
    spec = node.results[0]
    places, source, combine = e.tensor(idx), e.tensor(src), combiner(e, reduce, spec.dtype)

    def body(at: list[ir.Value], carried: ir.Value) -> ir.Value:
        where = list(at)
        index = e.to_i64(e.extract(places, at))
        where[dim] = e.position(index, spec.shape[dim], wraps=False)
        new = combine(lambda: e.extract(carried, where), e.extract(source, at))
        return e.insert(new, carried, where)

    return [e.loops(_bounds(e, e.spec(idx)), e.tensor(x), body)]


def _bounds(e: Emitter, spec: TensorSpec) -> list[ir.Value]:
    return [e.dim(d) for d in spec.shape]


Combine = Callable[[Callable[[], ir.Value], ir.Value], ir.Value]


def combiner(e: Emitter, reduce: str, dtype: DType) -> Combine:
    """What is stored, given the old element (fetched if wanted) and the new one."""
    if not reduce:
        return lambda old, new: new
    if dtype is DType.i1:
        return lambda old, new: e.binary({"sum": "ori", "amax": "ori"}.get(reduce, "andi"), old(), new)
    kind = "float" if dtype.is_float else "unsigned" if dtype is DType.u8 else "signed"
    name = _REDUCTIONS[reduce][kind]
    return lambda old, new: e.binary(name, old(), new)


_REDUCTIONS = {
    "sum": {"float": "addf", "signed": "addi", "unsigned": "addi"},
    "prod": {"float": "mulf", "signed": "muli", "unsigned": "muli"},
    "amax": {"float": "maximumf", "signed": "maxsi", "unsigned": "maxui"},
    "amin": {"float": "minimumf", "signed": "minsi", "unsigned": "minui"},
}
