"""Losses and their backwards. `reduction` is 0 for none, 1 for mean, 2 for sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.graph import Arg, Node

from ..dims import int_of
from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .operands import computing, number

if TYPE_CHECKING:
    from ..rewriter import Rewriter

NONE, MEAN = 0, 1


def reduced(loss: Tensor, reduction: Arg) -> Tensor:
    if reduction == NONE:
        return loss
    axes = list(range(loss.rank))
    return loss.mean(axes) if reduction == MEAN else loss.sum(axes)


def share(rw: Rewriter, grad: Tensor, x: Tensor, reduction: Arg) -> Tensor:
    """The gradient that reaches each element."""
    return grad / rw.count(x.numel, x.dtype) if reduction == MEAN else grad


def _operands(rw: Rewriter, node: Node, count: int) -> list[Tensor]:
    return [rw.tensor(a, computing(node)) for a in node.args[:count]]


# --- regression --------------------------------------------------------------------------------------


@decomposition("aten.mse_loss.default")
def mse_loss(rw: Rewriter, node: Node) -> Tensor:
    x, y = _operands(rw, node, 2)
    d = x - y
    return reduced(d * d, node.args[2])


@decomposition("aten.mse_loss_backward.default")
def mse_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x, y = _operands(rw, node, 3)
    return share(rw, grad, x, node.args[3]) * ((x - y) * 2.0)


@decomposition("aten.smooth_l1_loss.default")
def smooth_l1_loss(rw: Rewriter, node: Node) -> Tensor:
    x, y = _operands(rw, node, 2)
    beta = number(node.args[3])
    d = (x - y).abs()
    return reduced(rw.where(d < beta, d * d * 0.5 / beta, d - rw.tensor(beta, d.dtype) * 0.5), node.args[2])


@decomposition("aten.smooth_l1_loss_backward.default")
def smooth_l1_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x, y = _operands(rw, node, 3)
    beta = number(node.args[4])
    d = x - y
    slope = rw.where(d.abs() < beta, d / beta, d.unary("sign"))
    return share(rw, grad, x, node.args[3]) * slope


@decomposition("aten.huber_loss.default")
def huber_loss(rw: Rewriter, node: Node) -> Tensor:
    x, y = _operands(rw, node, 2)
    delta = rw.tensor(node.args[3], x.dtype)
    d = (x - y).abs()
    return reduced(rw.where(d <= delta, d * d * 0.5, (d - delta * 0.5) * delta), node.args[2])


@decomposition("aten.huber_loss_backward.default")
def huber_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x, y = _operands(rw, node, 3)
    delta = rw.tensor(node.args[4], x.dtype)
    d = x - y
    slope = rw.where(d <= -delta, -delta, rw.where(d >= delta, delta, d))
    return share(rw, grad, x, node.args[3]) * slope


# --- binary cross entropy ----------------------------------------------------------------------------


@decomposition("aten.binary_cross_entropy.default")
def binary_cross_entropy(rw: Rewriter, node: Node) -> Tensor:
    """Logarithms are cut off at −100, as on the CPU."""
    x, y = _operands(rw, node, 2)
    floor = rw.full((), -100.0, x.dtype)
    loss = (y - 1.0) * (-x).unary("log1p").maximum(floor) - y * x.log().maximum(floor)
    return reduced(_weighted(rw, loss, node.args[2]), node.args[3])


@decomposition("aten.binary_cross_entropy_backward.default")
def binary_cross_entropy_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x, y = _operands(rw, node, 3)
    slope = (x - y) / ((1.0 - x) * x).maximum(1e-12)
    return _weighted(rw, share(rw, grad, x, node.args[4]) * slope, node.args[3])


@decomposition("aten.binary_cross_entropy_with_logits.default")
def binary_cross_entropy_with_logits(rw: Rewriter, node: Node) -> Tensor:
    x, y = _operands(rw, node, 2)
    log_sigmoid = x.minimum(rw.zeros((), x.dtype)) - (-x.abs()).exp().unary("log1p")
    if node.args[3] is not None:
        weight = rw.tensor(node.args[3], x.dtype)
        log_sigmoid = ((weight - 1.0) * y + 1.0) * log_sigmoid
    loss = (1.0 - y) * x - log_sigmoid
    return reduced(_weighted(rw, loss, node.args[2]), node.args[4])


def _weighted(rw: Rewriter, value: Tensor, weight: Arg) -> Tensor:
    return value if weight is None else value * rw.tensor(weight, value.dtype)


@decomposition("aten.soft_margin_loss.default")
def soft_margin_loss(rw: Rewriter, node: Node) -> Tensor:
    """Each step is rounded to the operands' type, as on the CPU: a half's exponential overflows."""
    x, y = (rw.tensor(a, node.results[0].dtype) for a in node.args[:2])
    return reduced((-y * x).exp().unary("log1p").to(computing(node)), node.args[2])


@decomposition("aten.soft_margin_loss_backward.default")
def soft_margin_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    dtype = node.results[0].dtype
    grad, x, y = (rw.tensor(a, dtype) for a in node.args[:3])
    z = (-y * x).exp()
    return share(rw, grad, x, node.args[3]) * (-y * z / (z + 1.0))


# --- negative log likelihood -------------------------------------------------------------------------


class _Targets:
    """The targets of a classification: classes lie along dim 1, or 0 without a batch."""

    def __init__(self, rw: Rewriter, x: Tensor, target: Arg, weight: Arg, ignore: Arg) -> None:
        self.rw, self.x = rw, x
        self.axis = 1 if x.rank > 1 else 0
        self.target = rw.tensor(target)
        self.used = self.target.compare("ne", int_of(ignore))
        self.safe = rw.where(self.used, self.target, 0)
        one = rw.full((), 1.0, x.dtype)
        each = one if weight is None else rw.take(rw.tensor(weight, x.dtype), self.safe)
        self.weight = rw.where(self.used, each, 0.0)

    def picked(self) -> Tensor:
        index = self.safe.unsqueeze(self.axis)
        args: list[Arg] = [self.x.ref, self.axis, index.ref]
        found = self.rw.emit("own.take_along", args, [spec_of(index.shape, self.x.dtype)])[0]
        return found.view(self.target.shape)

    def hit(self) -> Tensor:
        """Where an element of x is its target's."""
        classes = self.rw.arange(self.x.shape[self.axis]).align(self.axis, self.x.rank)
        return classes.compare("eq", self.safe.unsqueeze(self.axis))


@decomposition("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def nll_loss(rw: Rewriter, node: Node) -> list[Tensor]:
    """(loss, total weight); the latter is 0 where nothing is reduced."""
    x, target, weight, reduction, ignore = node.args
    value = rw.tensor(x, computing(node))
    targets = _Targets(rw, value, target, weight, ignore)
    loss = rw.where(targets.used, -(targets.picked() * targets.weight), 0.0)
    if reduction == NONE:
        return [loss, rw.zeros((), value.dtype)]
    axes = list(range(loss.rank))
    total = targets.weight.sum(axes)
    summed = loss.sum(axes)
    return [summed / total if reduction == MEAN else summed, total]


@decomposition("aten.nll_loss_backward.default", "aten.nll_loss2d_backward.default")
def nll_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, x, target, weight, reduction, ignore, total = node.args
    value = rw.tensor(x, computing(node))
    targets = _Targets(rw, value, target, weight, ignore)
    g = rw.tensor(grad, value.dtype)
    if reduction == MEAN:
        g = g / rw.tensor(total, value.dtype)
    each = rw.where(targets.used, -(g * targets.weight), 0.0).unsqueeze(targets.axis)
    result = rw.where(targets.hit(), each, 0.0)
    rw.line_sums[result.number] = targets.axis, each
    return result
