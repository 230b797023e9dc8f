"""Connectionist temporal classification: the loss from α, its gradient from α and β (own/ctc.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node
from mlirdev.plan import PlanDim

from ..registry import decomposition
from ..tensor import Tensor, spec_of
from .index import scattered

if TYPE_CHECKING:
    from ..rewriter import Rewriter

INF = float("inf")


class _Batch:
    """log_probs (time, batch, classes), and per sample: how long it is, how long its target, where that begins."""

    def __init__(self, rw: Rewriter, log_probs: Arg, targets: Arg, inputs: Arg, lengths: Arg, blank: Arg) -> None:
        self.rw, self.blank = rw, blank
        self.log_probs = rw.tensor(log_probs)
        self.time, self.size, self.classes = self.log_probs.shape
        given = rw.tensor(targets)
        # One element more than there are, so that there is one.
        self.targets = given.view((given.numel,)).pad([0, 1], 0)
        self.inputs, self.lengths = (rw.tensor(a, DType.i64) for a in (inputs, lengths))
        self.begin = self._begin(given)

    def _begin(self, given: Tensor) -> Tensor:
        if given.rank == 2:
            return self.rw.arange(self.size) * self._count(given.shape[1])
        args: list[Arg] = [self.lengths.ref, 0, "add"]
        return self.rw.emit("own.scan", args, [self.lengths.spec])[0] - self.lengths

    def _count(self, size: PlanDim) -> Tensor:
        return self.rw.as_tensor(self.rw.count(size, DType.i64))

    def sums(self, states: PlanDim, backwards: bool) -> Tensor:
        """α, or β, (batch, time, states)."""
        rows = self.rw.joined([v.unsqueeze(0) for v in (self.inputs, self.lengths, self.begin)], 0)
        args: list[Arg] = [self.log_probs.ref, self.targets.ref, rows.ref, self.blank, backwards]
        spec = spec_of((self.size, self.time, states), self.log_probs.dtype)
        return self.rw.emit("own.ctc", args, [spec])[0]

    def labels(self, states: PlanDim) -> tuple[Tensor, Tensor]:
        """(batch, states): each state's class, and whether the sample has that state."""
        rw, two = self.rw, self.rw.full((), 2, DType.i64)
        state = rw.arange(states)
        half = rw.own("own.div_floor", state, two)
        has = state.unsqueeze(0) <= (self.lengths * 2).unsqueeze(1)
        last = self._count(self.targets.shape[0]) - 1
        target = rw.take(self.targets, (self.begin.unsqueeze(1) + half.unsqueeze(0)).minimum(last)).to(DType.i64)
        odd = (state - half * 2).compare("ne", 0).unsqueeze(0)
        blank = rw.tensor(self.blank, DType.i64)
        return rw.where(has, rw.where(odd, target, blank), 0), has


@decomposition("aten._ctc_loss.Tensor")
def ctc_loss(rw: Rewriter, node: Node) -> list[Tensor]:
    """(negative log likelihood of each sample, α)"""
    batch = _Batch(rw, *node.args[:5])
    alpha = batch.sums(node.results[1].shape[2], backwards=False)
    time, state = (batch.inputs - 1).maximum(0), batch.lengths * 2
    sample = rw.arange(batch.size)
    ends = [rw.indexed(alpha, [sample, time, s], (batch.size,)) for s in (state, (state - 1).maximum(0))]
    ends[1] = rw.where(batch.lengths.compare("eq", 0), -INF, ends[1])
    top = ends[0].maximum(ends[1])
    top = rw.where(top.compare("eq", -INF), 0.0, top)
    likelihood = ((ends[0] - top).exp() + (ends[1] - top).exp()).log() + top
    of_nothing = rw.where(batch.lengths.compare("eq", 0), rw.zeros((), alpha.dtype), INF)
    return [rw.where(batch.inputs.compare("eq", 0), of_nothing, -likelihood), alpha]


@decomposition("aten._ctc_loss_backward.Tensor")
def ctc_loss_backward(rw: Rewriter, node: Node) -> Tensor:
    """How much more probable a class is than the paths through it. Where α, β and the loss are infinite the CPU's
    differences aren't numbers."""
    grad, log_probs, targets, inputs, lengths, loss, alphas, blank, zero_infinity = node.args
    batch = _Batch(rw, log_probs, targets, inputs, lengths, blank)
    alpha = rw.tensor(alphas)
    nll, g = (rw.tensor(v, alpha.dtype).view((batch.size, 1, 1)) for v in (loss, grad))
    paths = _paths(rw, batch, alpha, nll)
    values = batch.log_probs.permute([1, 0, 2])
    infinite = nll.compare("eq", INF)
    difference = rw.where(infinite | values.compare("eq", -INF), float("nan"), values.exp() - paths)
    times = rw.arange(batch.time).view((1, batch.time, 1))
    used = times < batch.inputs.view((batch.size, 1, 1))
    if zero_infinity:
        used = used & ~infinite
    return rw.where(used, difference * g, 0.0).permute([1, 0, 2])


def _paths(rw: Rewriter, batch: _Batch, alpha: Tensor, nll: Tensor) -> Tensor:
    """(batch, time, classes): the share of the target's paths that are at each class then."""
    states = alpha.shape[2]
    beta = batch.sums(states, backwards=True)
    label, has = batch.labels(states)
    shape = (batch.size, batch.time, states)
    sample, time = rw.arange(batch.size).view((batch.size, 1, 1)), rw.arange(batch.time).view((1, batch.time, 1))
    label = label.unsqueeze(1)
    emitted = rw.indexed(batch.log_probs, [time, sample, label], shape)
    share = rw.where(has.unsqueeze(1), (alpha + beta + nll - emitted).exp(), 0.0)
    zeros = rw.zeros((batch.size, batch.time, batch.classes), alpha.dtype)
    return scattered(rw, zeros, 2, label.expand(shape), share, "sum")
