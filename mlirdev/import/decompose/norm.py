"""Normalisations and their backwards, in the dtype of the CPU: f32 stays f32, halves are computed in f32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlirdev.dtypes import DType
from mlirdev.graph import Arg, Node

from .. import dims
from ..dims import Shape
from ..promotion import widened
from ..registry import decomposition
from ..tensor import Tensor
from .operands import number

if TYPE_CHECKING:
    from ..rewriter import Rewriter


# --- layer norm --------------------------------------------------------------------------------------


@decomposition("aten.native_layer_norm.default")
def layer_norm(rw: Rewriter, node: Node) -> list[Tensor]:
    x, _, weight, bias, eps = node.args
    dtype = _dtype(rw, x)
    value = rw.tensor(x, dtype)
    axes = _normalized_axes(value, node.args[1])
    mean = value.mean(axes, True)
    centred = value - mean
    rstd = ((centred * centred).mean(axes, True) + number(eps)).rsqrt()
    return [_affine(rw, centred * rstd, weight, bias), mean, rstd]


@decomposition("aten.native_layer_norm_backward.default")
def layer_norm_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad, x, shape, mean, rstd, weight, _, mask = node.args
    dtype = _dtype(rw, x)
    value, g = rw.tensor(x, dtype), rw.tensor(grad, dtype)
    m, r = rw.tensor(mean, dtype), rw.tensor(rstd, dtype)
    axes = _normalized_axes(value, shape)
    outer = [d for d in range(value.rank) if d not in axes]
    normalized = (value - m) * r
    inner = g if weight is None else g * rw.tensor(weight, dtype)
    grad_x = (inner - inner.mean(axes, True) - normalized * (inner * normalized).mean(axes, True)) * r
    return masked(rw, node, mask, [grad_x, (g * normalized).sum(outer), g.sum(outer)])


@decomposition("aten._fused_rms_norm.default")
def rms_norm(rw: Rewriter, node: Node) -> list[Tensor]:
    x, shape, weight, eps = node.args
    dtype = _dtype(rw, x)
    value = rw.tensor(x, dtype)
    axes = _normalized_axes(value, shape)
    epsilon = number(eps) if eps is not None else _EPSILON[rw.tensor(x).dtype]
    rstd = ((value * value).mean(axes, True) + epsilon).rsqrt()
    return [_affine(rw, value * rstd, weight, None), rstd]


_EPSILON = {
    DType.f64: 2.220446049250313e-16,
    DType.f32: 1.1920928955078125e-07,
    DType.f16: 0.0009765625,
    DType.bf16: 0.0078125,
}


@decomposition("aten._fused_rms_norm_backward.default")
def rms_norm_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad, x, shape, rstd, weight, mask = node.args
    dtype = _dtype(rw, x)
    value, g, r = rw.tensor(x, dtype), rw.tensor(grad, dtype), rw.tensor(rstd, dtype)
    axes = _normalized_axes(value, shape)
    outer = [d for d in range(value.rank) if d not in axes]
    normalized = value * r
    inner = g if weight is None else g * rw.tensor(weight, dtype)
    grad_x = (inner - normalized * (inner * normalized).mean(axes, True)) * r
    return masked(rw, node, mask, [grad_x, (g * normalized).sum(outer)])


def masked(rw: Rewriter, node: Node, mask: Arg, values: list[Tensor]) -> list[Tensor]:
    """The wanted gradients. Recording may leave the others out, or give them a spec that nobody reads."""
    assert isinstance(mask, tuple)
    if len(node.results) != len(values):
        return [v for v, wanted in zip(values, mask, strict=True) if wanted]
    return [v if m else rw.zeros(s.shape, s.dtype) for v, m, s in zip(values, mask, node.results, strict=True)]


def _dtype(rw: Rewriter, x: Arg) -> DType:
    return widened(rw.tensor(x).dtype)


def _normalized_axes(x: Tensor, shape: Arg) -> list[int]:
    assert isinstance(shape, tuple)
    return list(range(x.rank - len(shape), x.rank))


def _affine(rw: Rewriter, x: Tensor, weight: Arg, bias: Arg) -> Tensor:
    """weight and bias of the trailing dims."""
    x = x if weight is None else x * rw.tensor(weight, x.dtype)
    return x if bias is None else x + rw.tensor(bias, x.dtype)


# --- group norm --------------------------------------------------------------------------------------


def _grouped(x: Tensor, groups: int) -> Tensor:
    """N, C, … as N, groups, C / groups, …"""
    channels = dims.static(x.shape[1])
    return x.view((x.shape[0], groups, channels // groups, *x.shape[2:]))


def _per_channel(rw: Rewriter, value: Arg, groups: int, rank: int, dtype: DType) -> Tensor | None:
    if value is None:
        return None
    t = rw.tensor(value, dtype)
    channels = dims.static(t.shape[0])
    return t.view((1, groups, channels // groups, *[1] * (rank - 2)))


@decomposition("aten.native_group_norm.default")
def group_norm(rw: Rewriter, node: Node) -> list[Tensor]:
    x, weight, bias = node.args[:3]
    groups, eps = dims.int_of(node.args[6]), number(node.args[7])
    dtype = _dtype(rw, x)
    value = rw.tensor(x, dtype)
    grouped = _grouped(value, groups)
    axes = list(range(2, grouped.rank))
    mean = grouped.mean(axes, True)
    centred = grouped - mean
    rstd = ((centred * centred).mean(axes, True) + eps).rsqrt()
    w, b = (_per_channel(rw, v, groups, value.rank, dtype) for v in (weight, bias))
    result = centred * rstd
    result = result if w is None else result * w
    result = result if b is None else result + b
    kept = (value.shape[0], groups)
    return [result.view(value.shape), mean.view(kept), rstd.view(kept)]


@decomposition("aten.native_group_norm_backward.default")
def group_norm_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad, x, mean, rstd, weight = node.args[:5]
    groups, mask = dims.int_of(node.args[8]), node.args[9]
    dtype = _dtype(rw, x)
    value = rw.tensor(x, dtype)
    g, grouped = _grouped(rw.tensor(grad, dtype), groups), _grouped(value, groups)
    kept = (value.shape[0], groups, *[1] * (grouped.rank - 2))
    m, r = rw.tensor(mean, dtype).view(kept), rw.tensor(rstd, dtype).view(kept)
    axes = list(range(2, grouped.rank))
    normalized = (grouped - m) * r
    w = _per_channel(rw, weight, groups, value.rank, dtype)
    inner = g if w is None else g * w
    grad_x = (inner - inner.mean(axes, True) - normalized * (inner * normalized).mean(axes, True)) * r
    rest = [0, *range(3, grouped.rank)]
    channels = (value.shape[1],)
    grads = [(g * normalized).sum(rest).view(channels), g.sum(rest).view(channels)]
    return masked(rw, node, mask, [grad_x.view(value.shape), *grads])


# --- batch norm --------------------------------------------------------------------------------------


def _channel_axes(x: Tensor) -> list[int]:
    return [d for d in range(x.rank) if d != 1]


def _along_channels(rw: Rewriter, value: Arg, x: Tensor) -> Tensor | None:
    return None if value is None else rw.tensor(value, x.dtype).align(1, x.rank)


def _normalized(rw: Rewriter, centred: Tensor, rstd: Tensor, weight: Arg, bias: Arg) -> Tensor:
    w, b = _along_channels(rw, weight, centred), _along_channels(rw, bias, centred)
    result = centred * (rstd if w is None else rstd * w)
    return result if b is None else result + b


def _inference(rw: Rewriter, x: Tensor, weight: Arg, bias: Arg, mean: Arg, var: Arg, eps: Arg) -> Tensor:
    m, v = rw.tensor(mean, x.dtype).align(1, x.rank), rw.tensor(var, x.dtype).align(1, x.rank)
    return _normalized(rw, x - m, (v + number(eps)).rsqrt(), weight, bias)


class _Batch:
    """Batch norm in training: the result, what is saved, and the running statistics afterwards."""

    def __init__(self, rw: Rewriter, x: Tensor, weight: Arg, bias: Arg, eps: Arg) -> None:
        axes = _channel_axes(x)
        self.count = dims.product(x.shape[d] for d in axes)
        self.mean = x.mean(axes, True)
        centred = x - self.mean
        self.var = (centred * centred).mean(axes, True)
        self.rstd = (self.var + number(eps)).rsqrt()
        self.result = _normalized(rw, centred, self.rstd, weight, bias)
        self.rw, self.channels = rw, (x.shape[1],)

    def saved(self) -> list[Tensor]:
        return [self.mean.view(self.channels), self.rstd.view(self.channels)]

    def running(self, mean: Arg, var: Arg, momentum: Arg) -> list[Tensor]:
        rw, share = self.rw, number(momentum)
        saved_mean, dtype = self.mean.view(self.channels), self.mean.dtype
        unbiased = self.var.view(self.channels) * self._correction()
        updated = []
        for old, new in ((mean, saved_mean), (var, unbiased)):
            if old is not None:
                before = rw.tensor(old, dtype)
                updated.append((new * share + before * (1.0 - rw.tensor(share, dtype))).to(rw.tensor(old).dtype))
        return updated

    def _correction(self) -> Tensor:
        """n / (n − 1); with one element only, the variance is NaN or infinite as on the CPU."""
        dtype = self.mean.dtype
        n = self.rw.tensor(self.count, dtype) if isinstance(self.count, int) else self.rw.count(self.count, dtype)
        assert isinstance(n, Tensor)
        return n / (n - 1.0)


@decomposition("aten._native_batch_norm_legit_functional.default")
def batch_norm_functional(rw: Rewriter, node: Node) -> list[Tensor]:
    """(result, saved mean, saved rstd, running mean, running var)."""
    x, weight, bias, mean, var, training, momentum, eps = node.args
    value = rw.tensor(x, _dtype(rw, x))
    if training:
        batch = _Batch(rw, value, weight, bias, eps)
        return [batch.result, *batch.saved(), *batch.running(mean, var, momentum)]
    result = _inference(rw, value, weight, bias, mean, var, eps)
    saved = [rw.zeros(s.shape, s.dtype) for s in node.results[1:3]]
    return [result, *saved, rw.tensor(mean), rw.tensor(var)]


@decomposition("aten.native_batch_norm.default", "aten._native_batch_norm_legit.default")
def batch_norm(rw: Rewriter, node: Node) -> list[Tensor]:
    """In training only where there are no running statistics to change."""
    x, weight, bias, mean, var, training, _, eps = node.args
    value = rw.tensor(x, _dtype(rw, x))
    if training:
        batch = _Batch(rw, value, weight, bias, eps)
        return [batch.result, *batch.saved()]
    result = _inference(rw, value, weight, bias, mean, var, eps)
    return [result, *(rw.zeros(s.shape, s.dtype) for s in node.results[1:])]


@decomposition("aten._native_batch_norm_legit.no_stats")
def batch_norm_no_stats(rw: Rewriter, node: Node) -> list[Tensor]:
    x, weight, bias, _, _, eps = node.args
    batch = _Batch(rw, rw.tensor(x, _dtype(rw, x)), weight, bias, eps)
    return [batch.result, *batch.saved()]


@decomposition("aten._native_batch_norm_legit_no_training.default")
def batch_norm_no_training(rw: Rewriter, node: Node) -> list[Tensor]:
    """The saved statistics are empty tensors."""
    x, weight, bias, mean, var, _, eps = node.args
    result = _inference(rw, rw.tensor(x, _dtype(rw, x)), weight, bias, mean, var, eps)
    return [result, *(rw.zeros(s.shape, s.dtype) for s in node.results[1:])]


@decomposition("aten.native_batch_norm_backward.default", "aten.batch_norm_backward.default")
def batch_norm_backward(rw: Rewriter, node: Node) -> list[Tensor]:
    grad, x, weight, mean, var, saved_mean, saved_rstd, train, eps, mask = node.args[:10]
    dtype = _dtype(rw, x)
    value, g = rw.tensor(x, dtype), rw.tensor(grad, dtype)
    axes = _channel_axes(value)
    if train:
        m, r = (rw.tensor(s, dtype).align(1, value.rank) for s in (saved_mean, saved_rstd))
    else:
        m = rw.tensor(mean, dtype).align(1, value.rank)
        r = (rw.tensor(var, dtype).align(1, value.rank) + number(eps)).rsqrt()
    normalized = (value - m) * r
    grad_bias, grad_weight = g.sum(axes, True), (g * normalized).sum(axes, True)
    scale = r if weight is None else r * rw.tensor(weight, dtype).align(1, value.rank)
    grad_x = g * scale
    if train:
        count = rw.count(dims.product(value.shape[d] for d in axes), dtype)
        grad_x = (g - grad_bias / count - normalized * (grad_weight / count)) * scale
    channels: Shape = (value.shape[1],)
    return masked(rw, node, mask, [grad_x, grad_weight.view(channels), grad_bias.view(channels)])
