"""Margin losses of several classes: each class is to be beaten by the target, or by every target, by a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .index import scattered
from .loss import MEAN, NONE
from .operands import computing

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _rows(x: Tensor) -> Tensor:
    """As (samples, classes)."""
    return x if x.rank == 2 else x.view((1, x.numel))


def _picked(rw: Rewriter, x: Tensor, index: Tensor) -> Tensor:
    """x[i, index[i, j]]."""
    args: list[Arg] = [x.ref, 1, index.ref]
    return rw.emit("own.take_along", args, [spec_of(index.shape, x.dtype)])[0]


def _reduced(rw: Rewriter, each: Tensor, reduction: Arg, node: Node) -> Tensor:
    """`each` holds a loss per sample."""
    if reduction == NONE:
        return each.view(node.results[0].shape)
    total = each.sum([0])
    if reduction != MEAN or each.shape[0] == 0:  # the mean of no samples is 0 here
        return total
    return total / rw.count(each.shape[0], each.dtype)


def _share(rw: Rewriter, grad: Arg, x: Tensor, reduction: Arg) -> Tensor:
    """The gradient that reaches each sample, (samples, 1), divided by the number of classes."""
    g = rw.tensor(grad, x.dtype)
    g = g.view((g.numel, 1)) / rw.count(x.shape[1], x.dtype)
    return g / rw.count(x.shape[0], x.dtype) if reduction == MEAN else g


# --- one target --------------------------------------------------------------------------------------


class _OneTarget:
    """How far each class is within the margin, 0 where it isn't, and at the target itself."""

    def __init__(self, rw: Rewriter, node: Node, first: int) -> None:
        x, target, self.p, margin, weight = node.args[first : first + 5]
        self.x = _rows(rw.tensor(x, computing(node)))
        dtype = self.x.dtype
        self.target = rw.tensor(target).view((self.x.shape[0], 1))
        z = self.x - _picked(rw, self.x, self.target) + rw.tensor(margin, dtype)
        classes = rw.arange(self.x.shape[1]).unsqueeze(0)
        self.within = (z > 0.0) & classes.compare("ne", self.target)
        self.z = rw.where(self.within, z, 0.0)
        weights = rw.optional(weight, dtype)
        self.weight = None if weights is None else rw.take(weights, self.target)

    def weighted(self, values: Tensor) -> Tensor:
        return values if self.weight is None else values * self.weight


@decomposition("aten.multi_margin_loss.default")
def multi_margin_loss(rw: Rewriter, node: Node) -> Tensor:
    m = _OneTarget(rw, node, 0)
    power = m.z if m.p == 1 else m.z * m.z
    return _reduced(rw, m.weighted(power).mean([1]), node.args[5], node)


@decomposition("aten.multi_margin_loss_backward.default")
def multi_margin_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    m = _OneTarget(rw, node, 1)
    slope = m.within.to(m.x.dtype) if m.p == 1 else m.z * 2.0
    each = m.weighted(slope) * _share(rw, node.args[0], m.x, node.args[6])
    return scattered(rw, each, 1, m.target, -each.sum([1], keep=True), "sum").view(node.results[0].shape)


# --- several targets ---------------------------------------------------------------------------------


class _Targets:
    """Of each sample the targets up to the first negative one: `valid` tells which count, the others are 0."""

    def __init__(self, rw: Rewriter, x: Tensor, target: Arg) -> None:
        given = _rows(rw.tensor(target))
        negative = (given < 0).to(DType.i64)
        args: list[Arg] = [negative.ref, 1, "add"]
        self.rw, self.x = rw, x
        self.valid = rw.emit("own.scan", args, [negative.spec])[0].compare("eq", 0)
        self.index = rw.where(self.valid, given, 0)

    def hit(self) -> Tensor:
        """1 at each class that is a target, else 0."""
        zeros = self.rw.zeros(self.index.shape, self.x.dtype)
        return scattered(self.rw, zeros, 1, self.index, self.valid.to(self.x.dtype), "amax")

    def within(self, hit: Tensor) -> tuple[Tensor, Tensor]:
        """(samples, targets, classes): how far the class is within the margin of the target, and where it is."""
        z = 1.0 - _picked(self.rw, self.x, self.index).unsqueeze(2) + self.x.unsqueeze(1)
        inside = (z > 0.0) & self.valid.unsqueeze(2) & hit.compare("eq", 0.0).unsqueeze(1)
        return z, inside


@decomposition("aten.multilabel_margin_loss_forward.default")
def multilabel_margin_loss(rw: Rewriter, node: Node) -> list[Tensor]:
    """(loss, which classes are targets)."""
    x = _rows(rw.tensor(node.args[0], computing(node)))
    targets = _Targets(rw, x, node.args[1])
    hit = targets.hit()
    z, inside = targets.within(hit)
    each = rw.where(inside, z, 0.0).sum([1, 2]) / rw.count(x.shape[1], x.dtype)
    return [_reduced(rw, each, node.args[2], node), hit.view(node.results[1].shape)]


@decomposition("aten.multilabel_margin_loss_backward.default")
def multilabel_margin_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    grad, self, target, reduction, hit = node.args
    x = _rows(rw.tensor(self, computing(node)))
    targets = _Targets(rw, x, target)
    _, inside = targets.within(_rows(rw.tensor(hit, x.dtype)))
    each = inside.to(x.dtype)
    slope = scattered(rw, each.sum([1]), 1, targets.index, -each.sum([2]), "sum")
    return (slope * _share(rw, grad, x, reduction)).view(node.results[0].shape)
