"""softmax and its kin, with the greatest element taken off first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.graph import Node

from ..dims import axes_of, int_of, wrap
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _sum(exponentials: Tensor, over: list[int]) -> Tensor:
    """In f32 however many they are: all are positive, and the largest is 1."""
    return exponentials.reduce("add", over, keep=True)


def softmax_of(x: Tensor, dim: int) -> Tensor:
    e = (x - x.amax([dim], True)).exp()
    return e / _sum(e, [dim])


def log_softmax_of(x: Tensor, dim: int) -> Tensor:
    shifted = x - x.amax([dim], True)
    return shifted - _sum(shifted.exp(), [dim]).log()


def _operand(rw: Rewriter, node: Node) -> tuple[Tensor, int]:
    x = rw.tensor(node.args[0], widened(node.results[0].dtype))
    return x, wrap(int_of(node.args[1]), x.rank)


@decomposition("aten._softmax.default", "aten.softmax.int")
def softmax(rw: Rewriter, node: Node) -> Tensor:
    x, dim = _operand(rw, node)
    return softmax_of(x, dim) if x.rank else rw.full((), 1.0, x.dtype)


@decomposition("aten._log_softmax.default", "aten.log_softmax.int")
def log_softmax(rw: Rewriter, node: Node) -> Tensor:
    x, dim = _operand(rw, node)
    return log_softmax_of(x, dim) if x.rank else x - x


@decomposition("aten._safe_softmax.default")
def safe_softmax(rw: Rewriter, node: Node) -> Tensor:
    """Rows that are all −∞ become zeros."""
    x, dim = _operand(rw, node)
    masked = x.amax([dim], True).compare("eq", -float("inf"))
    return rw.where(masked, 0.0, softmax_of(x, dim))


@decomposition("aten._softmax_backward_data.default")
def softmax_backward(rw: Rewriter, node: Node) -> Tensor:
    dtype = widened(node.results[0].dtype)
    grad, y = rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype)
    if not y.rank:
        return rw.zeros((), dtype)
    weighted = grad * y
    return weighted - y * weighted.sum([wrap(int_of(node.args[2]), y.rank)], True)


@decomposition("aten._log_softmax_backward_data.default")
def log_softmax_backward(rw: Rewriter, node: Node) -> Tensor:
    dtype = widened(node.results[0].dtype)
    grad, y = rw.tensor(node.args[0], dtype), rw.tensor(node.args[1], dtype)
    if not y.rank:
        return grad - y.exp() * grad
    axis = wrap(int_of(node.args[2]), y.rank)
    known_axis, total = rw.line_sums.get(grad.number, (None, grad))
    if known_axis != axis:
        total = grad.sum([axis], True)
    return grad - y.exp() * total


@decomposition("aten.logsumexp.default")
def logsumexp(rw: Rewriter, node: Node) -> Tensor:
    x = rw.tensor(node.args[0], widened(node.results[0].dtype))
    axes, keep = axes_of(node.args[1], x.rank), bool(node.args[2])
    if not x.rank:
        return x
    top = x.amax(axes, True)
    top = rw.where(top.abs().compare("eq", float("inf")), 0.0, top)
    total = _sum((x - top).exp(), axes).log() + top
    return total if keep else total.view(node.results[0].shape)
