"""Scaled dot product attention, as the CPU's flash kernel defines its results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Number, Tensor
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _flat(x: Tensor) -> Tensor:
    """Batch and heads as one dim."""
    return x.view((dims.product(x.shape[:-2]), *x.shape[-2:]))


class _Scores:
    """q·kᵀ, scaled and masked, with the row's greatest score and the sum of exponentials."""

    def __init__(self, rw: Rewriter, q: Tensor, k: Tensor, causal: Arg, mask: Arg, scale: Arg) -> None:
        self.rw = rw
        self.scale: Number = 1.0 / math.sqrt(dims.static(q.shape[-1])) if scale is None else number(scale)
        scores = _flat(q).bmm(_flat(k).transpose(1, 2)) * self.scale
        scores = scores.view((*q.shape[:-1], k.shape[-2]))
        if causal:
            rows, columns = rw.arange(q.shape[-2]).unsqueeze(1), rw.arange(k.shape[-2]).unsqueeze(0)
            scores = rw.where(columns <= rows, scores, -float("inf"))
        if mask is not None:
            scores = self._masked(scores, rw.tensor(mask))
        self.scores = scores

    def _masked(self, scores: Tensor, mask: Tensor) -> Tensor:
        if mask.dtype is DType.i1:
            return self.rw.where(mask, scores, -float("inf"))
        return scores + mask.to(scores.dtype)

    def weights(self) -> tuple[Tensor, Tensor]:
        """(softmax, log of the sum of exponentials); a row that is masked throughout gives zeros."""
        last = [self.scores.rank - 1]
        top = self.scores.amax(last, True)
        safe = self.rw.where(top.compare("eq", -float("inf")), 0.0, top)
        e = (self.scores - safe).exp()
        total = e.sum(last, True)
        weights = self.rw.where(total.compare("eq", 0.0), 0.0, e / total)
        return weights, (total.log() + safe).view(self.scores.shape[:-1])


def _expanded(rw: Rewriter, arg: Arg, q: Tensor) -> Tensor:
    """Keys and values for every head of the query, where several heads share them."""
    x = rw.tensor(arg, q.dtype)
    heads, shared = q.shape[1], x.shape[1]
    if heads == shared:
        return x
    times = dims.static(heads) // dims.static(shared)
    wide = x.unsqueeze(2).expand((x.shape[0], shared, times, *x.shape[2:]))
    return wide.view((x.shape[0], heads, *x.shape[2:]))


@decomposition("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(rw: Rewriter, node: Node) -> list[Tensor]:
    """(output, logsumexp)."""
    q, k, v, _, causal, mask, scale = node.args
    query = rw.tensor(q, widened(rw.tensor(q).dtype))
    key, value = _expanded(rw, k, query), _expanded(rw, v, query)
    weights, logsumexp = _Scores(rw, query, key, causal, mask, scale).weights()
    out = _flat(weights).bmm(_flat(value)).view((*query.shape[:-1], value.shape[-1]))
    return [out, logsumexp]


@decomposition("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def flash_attention_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    """Gradients of q, k and v, from the saved output and logsumexp."""
    grad, q, k, v, out, logsumexp, _, causal, mask, scale = node.args
    dtype = widened(rw.tensor(q).dtype)
    query, key, value, result, g = (rw.tensor(a, dtype) for a in (q, k, v, out, grad))
    scores = _Scores(rw, query, key, causal, mask, scale)
    weights = (scores.scores - rw.tensor(logsumexp, dtype).unsqueeze(query.rank - 1)).exp()
    weights = rw.where(scores.scores.compare("eq", -float("inf")), 0.0, weights)
    w, dout = _flat(weights), _flat(g)
    grad_v = w.transpose(1, 2).bmm(dout)
    grad_w = dout.bmm(_flat(value).transpose(1, 2))
    inner = _flat(g * result).sum([2], True)
    grad_s = w * (grad_w - inner) * scores.scale
    grad_q = grad_s.bmm(_flat(key))
    grad_k = grad_s.transpose(1, 2).bmm(_flat(query))
    return [grad_q.view(query.shape), grad_k.view(key.shape), grad_v.view(value.shape)]
