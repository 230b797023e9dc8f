"""Operators and their gradients at one size after another: from the second on their sizes are inputs of the kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch as T
import torch.nn.functional as F

from mlirdev.compiler.driver import CompileWarning

DEV = "mlirdev"
r = T.randn

# For a size: the function and its operands.
CASES: dict[str, Callable[[int], tuple[Callable[..., T.Tensor], list[T.Tensor]]]] = {
    "mm": lambda n: (lambda a, b: a @ b, [r(n, n + 2), r(n + 2, n + 1)]),
    "mmfix": lambda n: (lambda a, b: a @ b, [r(n, 16), r(16, 8)]),
    "bmm": lambda n: (lambda a, b: a @ b, [r(3, n, 4), r(3, 4, n)]),
    "linear": lambda n: (lambda x, w, b: F.linear(x, w, b), [r(2, n, 8), r(6, 8), r(6)]),
    "softmax": lambda n: (lambda x: F.softmax(x, -1), [r(4, n)]),
    "logsoftmax0": lambda n: (lambda x: F.log_softmax(x, 0), [r(n, n + 1)]),
    "ln": lambda n: (lambda x, w, b: F.layer_norm(x, (8,), w, b), [r(n, 3, 8), r(8), r(8)]),
    "lnn": lambda n: (lambda x: F.layer_norm(x, x.shape[1:]), [r(3, n)]),
    "gn": lambda n: (lambda x: F.group_norm(x, 2), [r(n, 4, n)]),
    "bn": lambda n: (lambda x: F.batch_norm(x, None, None, training=True), [r(n, 4, n, 3)]),
    "rms": lambda n: (lambda x: F.rms_norm(x, (8,)), [r(n, 8)]),
    "conv2d": lambda n: (lambda x, w: F.conv2d(x, w, padding=1), [r(2, 3, n, n + 1), r(4, 3, 3, 3)]),
    "conv2db": lambda n: (lambda x, w: F.conv2d(x, w, stride=2), [r(n, 3, 8, 8), r(4, 3, 3, 3)]),
    "conv1dg": lambda n: (lambda x, w: F.conv1d(x, w, groups=2, padding=1), [r(2, 4, n), r(4, 2, 3)]),
    "convT": lambda n: (lambda x, w: F.conv_transpose2d(x, w, stride=2), [r(n, 3, 4, 4), r(3, 4, 3, 3)]),
    "maxpool": lambda n: (lambda x: F.max_pool2d(x, 2), [r(n, 3, 8, 8)]),
    "avgpool": lambda n: (lambda x: F.avg_pool2d(x, 2), [r(2, 3, 2 * n, 8)]),
    "aap": lambda n: (lambda x: F.adaptive_avg_pool2d(x, (1, 1)), [r(2, 3, n, n)]),
    "interp": lambda n: (lambda x: F.interpolate(x, scale_factor=2), [r(n, 3, 4, 4)]),
    "interpb": lambda n: (lambda x: F.interpolate(x, size=(7, 5), mode="bilinear"), [r(n, 3, 4, 4)]),
    "cat": lambda n: (lambda a, b: T.cat([a, b], 1), [r(3, n), r(3, n + 3)]),
    "cat0": lambda n: (lambda a, b: T.cat([a, b, a], 0), [r(n, 2), r(4, 2)]),
    "stack": lambda n: (lambda a, b: T.stack([a, b], 1), [r(3, n), r(3, n)]),
    "split": lambda n: (lambda a: T.cat([q * 2 for q in a.split([2, n - 2], 0)], 0), [r(n, 3)]),
    "chunk": lambda n: (lambda a: sum(a.chunk(2, 1)), [r(3, 2 * n)]),
    "pad": lambda n: (lambda a: F.pad(a, (1, 2)), [r(3, n)]),
    "padr": lambda n: (lambda a: F.pad(a, (1, 2), mode="reflect"), [r(3, n)]),
    "padneg": lambda n: (lambda a: F.pad(a, (-1, 2)), [r(3, n)]),
    "cumsum": lambda n: (lambda a: a.cumsum(1), [r(3, n)]),
    "cumsum0": lambda n: (lambda a: a.cumsum(0), [r(n, 4)]),
    "sum0": lambda n: (lambda a: a.sum(0), [r(n, 4)]),
    "mean": lambda n: (lambda a: a.mean(), [r(n, 4)]),
    "var": lambda n: (lambda a: a.var(1), [r(3, n)]),
    "std": lambda n: (lambda a: a.std(), [r(n, n)]),
    "amax": lambda n: (lambda a: a.amax(1), [r(3, n)]),
    "max": lambda n: (lambda a: a.max(1)[0], [r(3, n)]),
    "argmax": lambda n: (lambda a: a.argmax(1).float() * a.sum(), [r(3, n)]),
    "argmaxall": lambda n: (lambda a: a.argmax().float() * a.sum(), [r(3, n)]),
    "norm": lambda n: (lambda a: a.norm(dim=1), [r(3, n)]),
    "lse": lambda n: (lambda a: a.logsumexp(1), [r(3, n)]),
    "sort": lambda n: (lambda a: a.sort(1)[0], [r(n, 6)]),
    "sortn": lambda n: (lambda a: a.sort(1)[0], [r(3, n)]),
    "topk": lambda n: (lambda a: a.topk(2)[0], [r(n, 6)]),
    "gather": lambda n: (lambda a: a.gather(1, T.arange(n, device=a.device).flip(0)[None].expand(3, n)), [r(3, n)]),
    "index": lambda n: (lambda a: a[T.tensor([0, 2, -1], device=a.device)], [r(n, 4)]),
    "index2": lambda n: (lambda a: a[:, T.arange(2, device=a.device)], [r(4, n)]),
    "mask": lambda n: (lambda a: a.masked_fill(a > 0, 0.5), [r(4, n)]),
    "where": lambda n: (lambda a, b: T.where(a > b, a, b), [r(4, n), r(n)]),
    "scatter": lambda n: (
        lambda a: a.scatter_add(0, T.zeros(1, 4, dtype=T.long, device=a.device), T.ones(1, 4, device=a.device)),
        [r(n, 4)],
    ),
    "emb": lambda n: (lambda w: F.embedding(T.arange(n, device=w.device) % 5, w), [r(5, 4)]),
    "onehot": lambda n: (lambda a: F.one_hot(T.arange(n, device=a.device), 9).float() * a.sum(), [r(2)]),
    "tril": lambda n: (lambda a: a.tril(), [r(n, n)]),
    "triu1": lambda n: (lambda a: a.triu(1), [r(n, n + 2)]),
    "diag": lambda n: (lambda a: a.diagonal().sum(), [r(n, n)]),
    "diagv": lambda n: (lambda a: T.diag(a), [r(n)]),
    "diag_embed": lambda n: (lambda a: T.diag_embed(a, 1), [r(2, n)]),
    "flip": lambda n: (lambda a: a.flip(1), [r(3, n)]),
    "roll": lambda n: (lambda a: a.roll(1, 1), [r(3, n)]),
    "permute": lambda n: (lambda a: a.permute(2, 0, 1).contiguous() * 2, [r(3, n, 4)]),
    "view": lambda n: (lambda a: a.view(-1, 2) * 2, [r(2, n, 2)]),
    "viewt": lambda n: (lambda a: a.t().reshape(-1) + 1, [r(4, n)]),
    "expand": lambda n: (lambda a: a[:, None].expand(3, n, 2).reshape(3, -1) * a.sum(), [r(3, 2)]),
    "expandn": lambda n: (lambda a, b: a[:, None] + b, [r(n), r(n + 1)]),
    "repeat": lambda n: (lambda a: a.repeat(2, 3) + 1, [r(3, n)]),
    "ri": lambda n: (lambda a: a.repeat_interleave(2, 1), [r(3, n)]),
    "slice": lambda n: (lambda a: a[1:-1, ::2] * 2, [r(n, 8)]),
    "slice2": lambda n: (lambda a: a[:, 2:n] * 2, [r(3, 9)]),
    "slice3": lambda n: (lambda a: a[::3] * 2, [r(3 * n, 2)]),
    "select": lambda n: (lambda a: a[-1] + a[n - 2], [r(n, 2)]),
    "narrow": lambda n: (lambda a: a.narrow(0, 1, n - 1) * 1.5, [r(n, 2)]),
    "unfold": lambda n: (lambda a: a.unfold(1, 3, 1).sum(-1), [r(3, n)]),
    "F.unfold": lambda n: (lambda a: F.unfold(a, 2), [r(n, 2, 4, 5)]),
    "einsum": lambda n: (lambda a, b: T.einsum("bij,bkj->bik", a, b), [r(2, n, 4), r(2, 3, 4)]),
    "sdpa": lambda n: (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        [r(1, 2, n, 4), r(1, 2, n, 4), r(1, 2, n, 4)],
    ),
    "ce": lambda n: (lambda x: F.cross_entropy(x, T.arange(n, device=x.device) % 5), [r(n, 5)]),
    "nll2": lambda n: (
        lambda x: F.nll_loss(F.log_softmax(x, 1), T.zeros(2, n, dtype=T.long, device=x.device)),
        [r(2, 5, n)],
    ),
    "mse": lambda n: (lambda x, y: F.mse_loss(x, y), [r(n, 5), r(n, 5)]),
    "bce": lambda n: (lambda x, y: F.binary_cross_entropy_with_logits(x, y), [r(n, 5), r(n, 5)]),
    "smoothl1": lambda n: (lambda x, y: F.smooth_l1_loss(x, y), [r(n, 5), r(n, 5)]),
    "gelu": lambda n: (lambda x: F.gelu(x) + x * n, [r(n, 5)]),
    "glu": lambda n: (lambda x: F.glu(x, 1), [r(3, 2 * n)]),
    "cdist": lambda n: (lambda x, y: T.cdist(x, y), [r(n, 3), r(n + 1, 3)]),
    "linspace": lambda n: (lambda x: x + T.linspace(0, 1, n, device=x.device), [r(n)]),
    "arange": lambda n: (lambda x: x * T.arange(n, device=x.device), [r(n)]),
    "full": lambda n: (lambda x: x * T.full((n,), 2.0, device=x.device) + T.ones_like(x), [r(n)]),
    "eye": lambda n: (lambda x: x + T.eye(n, device=x.device), [r(n, n)]),
    "strided": lambda n: (lambda x: x.as_strided((n, 2), (2, 1)) * 2, [r(n, 4)]),
    "inplace": lambda n: (lambda x: (lambda y: (y[1:].mul_(2), y[:, 0].add_(1), y)[-1])(x * 1.0), [r(n, 4)]),
    "inplace2": lambda n: (lambda x: (lambda y: (y[:, 2:n].zero_(), y)[-1])(x * 1.0), [r(3, 9)]),
    "outer": lambda n: (lambda a, b: T.outer(a, b), [r(n), r(n + 1)]),
    "kron": lambda n: (lambda a, b: T.kron(a, b), [r(n, 2), r(2, n)]),
    "tensordot": lambda n: (lambda a, b: T.tensordot(a, b, dims=2), [r(2, n, 3), r(n, 3, 4)]),
    "addmm": lambda n: (lambda c, a, b: T.addmm(c, a, b), [r(n, 6), r(n, 3), r(3, 6)]),
    "pixel": lambda n: (lambda a: F.pixel_shuffle(a, 2), [r(1, 4, n, n)]),
    "prod": lambda n: (lambda a: a.prod(1), [r(3, n)]),
    "any": lambda n: (lambda a: (a > 1).any(1).float() * a.sum(1), [r(3, n)]),
    "bool2": lambda n: (lambda a: ((a > 0) & (a < 1)).sum().float() * a.mean(), [r(3, n)]),
    "half": lambda n: (lambda a: (a.bfloat16() @ a.bfloat16().t()).float(), [r(n, 8)]),
    "meanstd": lambda n: (lambda a: (a - a.mean(1, True)) / (a.std(1, keepdim=True) + 1e-5), [r(3, n)]),
}


def values(function: Callable[..., T.Tensor], operands: list[T.Tensor], device: str) -> list[T.Tensor]:
    """The result and its gradients."""
    leaves = [x.to(device).requires_grad_() for x in operands]
    result = function(*leaves)
    T.manual_seed(0)
    weight = T.randn(result.shape).to(device)
    grads = T.autograd.grad((result * weight).sum(), leaves, allow_unused=True)
    return [t.detach().cpu() for t in (result, *grads) if t is not None]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_one_size_after_another(name: str) -> None:
    tolerance = {"rtol": 2e-2, "atol": 1e-1} if name == "half" else {"rtol": 1e-3, "atol": 1e-4}
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompileWarning)
        for n in (5, 4, 7, 6):
            T.manual_seed(n)
            function, operands = CASES[name](n)
            for got, wanted in zip(values(function, operands, DEV), values(function, operands, "cpu"), strict=True):
                T.testing.assert_close(got, wanted, **tolerance)
