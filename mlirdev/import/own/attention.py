"""Scaled dot product attention as one operation of our dialect (mlirdev/dialect.py says what it computes).

own.attention(q, k, v, mask, causal, scale, zero_rows)                     (out, logsumexp)
own.attention_backward(dout, q, k, v, out, logsumexp, mask, causal, scale) (dq, dk, dv)

q is batch… × queries × d, k and v have its rank; a batch dim of theirs may be 1 where q's isn't, and so may any dim of
the mask, which is added to the scores and may be None.

Why one operation, rather than the products and the softmax as linalg, found again when kernels are formed: a causal
product that leaves out what the mask hides, and a backward whose weights are never in memory, are no longer these
loops. What is written out by hand in PyTorch's ops becomes the same node (attended.py): on the graph it is a dozen
nodes in a known order, afterwards a hundred lines of fused loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from mlirdev.dialect import ATTENTION, ATTENTION_BACKWARD
from mlirdev.graph import Arg, Node

from ..dims import Shape
from ..emitter import Emitter
from .registry import own


class _Maps:
    """Indexing maps over (batch…, m, n, d, e)."""

    def __init__(self, q: Shape, k: Shape, v: Shape) -> None:
        self.batch = len(q) - 2
        self.sizes = (*q[:-1], k[-2], q[-1], v[-1])
        m, n, d, e = range(self.batch, self.batch + 4)
        self.q, self.k, self.v, self.mask, self.out, self.rows = (m, d), (n, d), (n, e), (m, n), (m, e), (m,)

    def of(self, shape: Shape, last: tuple[int, ...]) -> ir.Attribute:
        """The map of an operand with these dims after its batch dims; a dim that it repeats isn't in it."""
        wanted = [*range(self.batch), *last][self.batch + len(last) - len(shape) :]
        exprs = [
            ir.AffineConstantExpr.get(0) if size == 1 and self.sizes[dim] != 1 else ir.AffineDimExpr.get(dim)
            for size, dim in zip(shape, wanted, strict=True)
        ]
        return ir.AffineMapAttr.get(ir.AffineMap.get(len(self.sizes), 0, exprs))


@own("own.attention")
def attention(e: Emitter, node: Node) -> Sequence[ir.Value]:
    q, k, v, mask, causal, scale, zero_rows = node.args
    maps = _Maps(*(e.spec(a).shape for a in (q, k, v)))
    inputs = [(q, maps.q), (k, maps.k), (v, maps.v), (mask, maps.mask)]
    return _emit(e, node, ATTENTION, maps, inputs, [maps.out, maps.rows], scale, causal=causal, zero_rows=zero_rows)


@own("own.attention_backward")
def attention_backward(e: Emitter, node: Node) -> Sequence[ir.Value]:
    dout, q, k, v, out, logsumexp, mask, causal, scale = node.args
    maps = _Maps(*(e.spec(a).shape for a in (q, k, v)))
    inputs = [(dout, maps.out), (q, maps.q), (k, maps.k), (v, maps.v), (out, maps.out), (logsumexp, maps.rows)]
    return _emit(
        e, node, ATTENTION_BACKWARD, maps, [*inputs, (mask, maps.mask)], [maps.q, maps.k, maps.v], scale, causal=causal
    )


def _emit(
    e: Emitter,
    node: Node,
    name: str,
    maps: _Maps,
    inputs: Sequence[tuple[Arg, tuple[int, ...]]],
    results: Sequence[tuple[int, ...]],
    scale: Arg,
    **flags: Arg,
) -> list[ir.Value]:
    assert isinstance(scale, float)
    given = [(a, dims) for a, dims in inputs if a is not None]
    outs = [e.empty(spec.shape, e.element_type(spec.dtype)) for spec in node.results]
    indexing = [maps.of(e.spec(a).shape, dims) for a, dims in given]
    indexing += [maps.of(spec.shape, dims) for spec, dims in zip(node.results, results, strict=True)]
    attributes = {
        "indexing_maps": ir.ArrayAttr.get(indexing),
        **{name: ir.BoolAttr.get(bool(flag)) for name, flag in flags.items()},
        "scale": ir.FloatAttr.get(e.builder.type("f64"), scale),
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get([1] * len(outs)),
    }
    return e.builder.create(name, [o.type for o in outs], [*(e.tensor(a) for a, _ in given), *outs], attributes)
