"""Embedding bags: rows of a table by index, put together per bag, and the gradients of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from .. import dims
from ..dims import int_of
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .index import scattered
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter

MEAN, MAX = 1, 2


def _bag_of_each(rw: Rewriter, offsets: Tensor, count: PlanDim, bags: PlanDim) -> Tensor:
    """(count,): how many bags have begun at each index, less one. Empty bags begin where the next one does."""
    begun = rw.zeros((dims.add(count, 1),), DType.i64)
    first = offsets.slice(0, 0, bags, length=bags)
    begun = rw.put(begun, [first], rw.full((bags,), 1, DType.i64), True)
    args: list[Arg] = [begun.ref, 0, "add"]
    total = rw.emit("own.scan", args, [begun.spec])[0]
    return total.slice(0, 0, count, length=count) - 1


def _counted(rw: Rewriter, indices: Tensor, padding: Arg) -> Tensor:
    """Whether each index counts: the padding index doesn't."""
    return indices.compare("ne", int_of(padding))


@decomposition("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default")
def embedding_bag(rw: Rewriter, node: Node) -> list[Tensor]:
    """(values, each index's bag, the bags' sizes without padding, in mode max each value's index)."""
    weight, mode, padding = rw.tensor(node.args[0], computing(node)), node.args[4], node.args[8]
    indices, offsets = (rw.tensor(a, DType.i64) for a in node.args[1:3])
    out, each, sizes, maxima = node.results
    if 0 in out.shape or each.shape[0] == 0:
        return [rw.zeros(s.shape, s.dtype) for s in node.results]
    bag = _bag_of_each(rw, offsets, each.shape[0], sizes.shape[0])
    counted = _counted(rw, indices, padding)
    size = rw.put(rw.zeros(sizes.shape, DType.i64), [bag], counted.to(DType.i64), True)
    if mode == MAX:
        kept = rw.where(counted, indices, -1)
        args: list[Arg] = [weight.ref, kept.ref, bag.ref]
        where = rw.emit("own.bag_max", args, [maxima])[0]
        found = rw.emit("own.take_along", [weight.ref, 0, where.ref], [spec_of(out.shape, weight.dtype)])[0]
        return [rw.where(size.compare("eq", 0).unsqueeze(1), 0.0, found), bag, size, where]
    rows = rw.take(weight, indices)
    samples = rw.optional(node.args[6], weight.dtype)
    rows = rows if samples is None else rows * samples.unsqueeze(1)
    total = rw.put(rw.zeros(out.shape, weight.dtype), [bag], rw.where(counted.unsqueeze(1), rows, 0.0), True)
    value = total / size.maximum(1).to(weight.dtype).unsqueeze(1) if mode == MEAN else total
    return [value, bag, size, rw.zeros(maxima.shape, DType.i64)]


@decomposition("aten._embedding_bag_backward.default", "aten._embedding_bag_dense_backward.default")
def embedding_bag_backward(rw: Rewriter, node: Node) -> Tensor:
    """Each index's share of its bag's gradient is added to its row, in the indices' order; limits.py has refused
    shares by frequency."""
    given = list(node.args)
    if "dense" not in node.op:  # these have no say in it
        del given[9], given[2]
    grad, idx, each, sizes, maxima, _, _, mode, samples, padding = given
    g, spec = rw.tensor(grad, computing(node)), node.results[0]
    indices, bag, size = (rw.tensor(a, DType.i64) for a in (idx, each, sizes))
    zeros = rw.zeros(spec.shape, g.dtype)
    if 0 in g.shape or 0 in indices.shape:
        return zeros
    if mode == MAX:
        kept = rw.where(size.compare("eq", 0).unsqueeze(1), 0.0, g)
        return scattered(rw, zeros, 0, rw.tensor(maxima), kept, "sum")
    rows = rw.take(g, bag)
    weights = rw.optional(samples, g.dtype)
    rows = rows if weights is None else rows * weights.unsqueeze(1)
    if mode == MEAN:
        rows = rows / rw.take(size, bag).maximum(1).to(g.dtype).unsqueeze(1)
    counted = _counted(rw, indices, padding).unsqueeze(1)
    return rw.put(zeros, [indices], rw.where(counted, rows, 0.0), True)


@decomposition("aten._embedding_bag_per_sample_weights_backward.default")
def per_sample_weights_backward(rw: Rewriter, node: Node) -> Tensor:
    """The product of each index's row and its bag's gradient."""
    grad, weight = (rw.tensor(a, computing(node)) for a in node.args[:2])
    indices, bag = (rw.tensor(node.args[i], DType.i64) for i in (2, 4))
    if 0 in node.results[0].shape or 0 in grad.shape:
        return rw.zeros(node.results[0].shape, grad.dtype)
    products = (rw.take(weight, indices) * rw.take(grad, bag)).sum([1])
    return rw.where(_counted(rw, indices, node.args[6]), products, 0.0)
