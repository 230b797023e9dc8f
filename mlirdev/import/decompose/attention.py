"""Scaled dot product attention, as the CPU's flash kernel defines its results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Tensor, spec_of

if TYPE_CHECKING:
    from ..rewriter import Rewriter


def _scale(scale: Arg, q: Tensor) -> float:
    if scale is None:
        return 1.0 / math.sqrt(dims.static(q.shape[-1]))
    assert isinstance(scale, (int, float))
    return float(scale)


def _added(rw: Rewriter, mask: Arg, dtype: DType) -> Tensor | None:
    """The mask as what is added to the scores: the CPU makes numbers of a bool one too."""
    if mask is None:
        return None
    x = rw.tensor(mask)
    return rw.where(x, 0.0, rw.full((), -math.inf, widened(dtype))) if x.dtype is DType.i1 else x


def _grouped(x: Tensor, groups: int) -> Tensor:
    """Batch × heads × … as batch × groups × heads of a group × …."""
    batch, heads, *rest = x.shape
    return x.view((batch, groups, dims.static(heads) // groups, *rest))


class _Operands:
    """The operands of one call, where several heads may share keys and values: they stand as dims of their own then."""

    def __init__(self, rw: Rewriter, q: Arg, k: Arg, v: Arg, mask: Arg) -> None:
        self.q, self.k, self.v = (rw.tensor(a) for a in (q, k, v))
        self.mask = _added(rw, mask, self.q.dtype)
        self.groups = dims.static(self.k.shape[1])
        self.is_grouped = self.q.shape[1] != self.k.shape[1]
        if self.is_grouped:
            self.q, self.mask = self.apart(self.q), self.mask_apart()
            self.k, self.v = self.k.unsqueeze(2), self.v.unsqueeze(2)

    def apart(self, x: Tensor) -> Tensor:
        return _grouped(x, self.groups) if self.is_grouped else x

    def mask_apart(self) -> Tensor | None:
        mask = self.mask
        if mask is None or mask.rank < 3:
            return mask
        return mask.unsqueeze(mask.rank - 3) if mask.shape[-3] == 1 else _grouped(mask, self.groups)

    @property
    def mask_ref(self) -> Arg:
        return None if self.mask is None else self.mask.ref


@decomposition("aten._scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(rw: Rewriter, node: Node) -> list[Tensor]:
    """(output, logsumexp)."""
    q, k, v, _, causal, mask, scale = node.args
    x = _Operands(rw, q, k, v, mask)
    out, logsumexp = node.results
    shape = x.q.shape[:-1]
    specs = [spec_of((*shape, out.shape[-1]), out.dtype), spec_of(shape, logsumexp.dtype)]
    args = [x.q.ref, x.k.ref, x.v.ref, x.mask_ref, causal, _scale(scale, x.q), True]
    results = rw.emit("own.attention", args, specs)
    return [result.view(spec.shape) for result, spec in zip(results, node.results, strict=True)]


@decomposition("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def flash_attention_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    """Gradients of q, k and v, from the saved output and logsumexp."""
    grad, q, k, v, out, logsumexp, _, causal, mask, scale = node.args
    x = _Operands(rw, q, k, v, mask)
    dout, result, total = (x.apart(rw.tensor(a)) for a in (grad, out, logsumexp))
    inputs = [dout.ref, x.q.ref, x.k.ref, x.v.ref, result.ref, total.ref, x.mask_ref]
    specs = [spec_of(t.shape, spec.dtype) for t, spec in zip((x.q, x.k, x.v), node.results, strict=True)]
    grads = rw.emit("own.attention_backward", [*inputs, causal, _scale(scale, x.q)], specs)
    return [g.view(spec.shape) for g, spec in zip(grads, node.results, strict=True)]
