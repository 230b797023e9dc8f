"""Scaled dot product attention beside the CPU's: values and gradients over shapes, masks, dtypes and layouts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import mlirdev

TOLERANCE = {torch.bfloat16: 3e-2, torch.float16: 4e-3}


def operands(shape: tuple[int, ...], keys: tuple[int, ...] = (), dtype: torch.dtype = torch.float32) -> list[Tensor]:
    torch.manual_seed(0)
    q = torch.randn(shape).to(dtype)
    return [q, *(torch.randn(keys or shape).to(dtype) for _ in range(2))]


def on_device(x: Any) -> Any:
    return x.to("mlirdev") if isinstance(x, Tensor) else x


def compare(
    tensors: list[Tensor], grads: bool = True, attend: Callable[..., Tensor] | None = None, **options: Any
) -> None:
    """The result, and the gradients of the first three, beside the CPU's."""
    attend = attend or F.scaled_dot_product_attention
    wanted = run(attend, [t.detach().requires_grad_(grads) for t in tensors], options)
    moved = {name: on_device(value) for name, value in options.items()}
    with mlirdev.no_fallback():
        ours = run(attend, [on_device(t).detach().requires_grad_(grads) for t in tensors], moved)
    close = TOLERANCE.get(tensors[0].dtype, 1e-5)
    for got, want in zip(ours, wanted, strict=True):
        torch.testing.assert_close(got.cpu(), want, rtol=close, atol=close, equal_nan=True)
        assert got.stride() == want.stride()


def run(attend: Callable[..., Tensor], tensors: list[Tensor], options: dict[str, Any]) -> list[Tensor]:
    out = attend(*tensors, **options)
    if not tensors[0].requires_grad:
        return [out]
    weight = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out.device, out.dtype)
    return [out.detach(), *torch.autograd.grad(out, tensors, weight)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ((2, 3, 32, 16), ()),
        ((1, 2, 37, 24), (1, 2, 53, 24)),
        ((1, 1, 5, 8), (1, 1, 70, 8)),
        ((1, 2, 70, 33), (1, 2, 9, 33)),
        ((2, 1, 1, 64), (2, 1, 19, 64)),
        ((1, 1, 130, 128), ()),
        ((1, 3, 2, 1), (1, 3, 1, 1)),
        ((2, 3, 5, 4), ()),
        ((1, 2, 1, 40), (1, 2, 67, 40)),
        ((1, 2, 3, 16), (1, 2, 33, 16)),
    ],
    ids=str,
)
def test_shapes(shape: tuple[int, ...], keys: tuple[int, ...], causal: bool) -> None:
    compare(operands(shape, keys), is_causal=causal)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [(7, 19), (1, 19), (7, 1), (2, 3, 7, 19), (2, 1, 7, 19), (1, 3, 1, 19), (1, 1, 1, 1)], ids=str
)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(shape: tuple[int, ...], kind: str) -> None:
    x = operands((2, 3, 7, 16), (2, 3, 19, 16))
    mask = torch.randn(shape)
    compare(x, attn_mask=mask > -0.5 if kind == "bool" else mask)


def test_a_row_that_sees_nothing() -> None:
    x = operands((1, 2, 9, 16), (1, 2, 40, 16))
    mask = torch.ones(9, 40, dtype=torch.bool)
    mask[3], mask[5, 7:] = False, False
    compare(x, attn_mask=mask)
    compare(x, attn_mask=torch.zeros(9, 40).masked_fill(~mask, -torch.inf))


def test_values_that_are_not_finite() -> None:
    q, k, v = operands((1, 1, 9, 16), (1, 1, 40, 16))
    q[0, 0, 2, 3] = torch.nan
    v[0, 0, 4, 5] = torch.inf
    compare([q, k, v], grads=False)
    compare([q * 1e3, k, v], grads=False)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_dtypes(dtype: torch.dtype) -> None:
    compare(operands((1, 2, 21, 16), (1, 2, 35, 16), dtype), scale=0.3)
    compare(operands((1, 2, 21, 16), dtype=dtype), is_causal=True)
    compare(operands((1, 2, 21, 16), (1, 2, 35, 16), dtype), attn_mask=torch.randn(21, 35).to(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_heads_that_share_keys(causal: bool) -> None:
    x = operands((2, 6, 11, 16), (2, 2, 11, 16))
    compare(x, is_causal=causal, enable_gqa=True)
    compare(x, attn_mask=torch.randn(2, 6, 11, 11), enable_gqa=True)
    compare([x[0][:, :, :1], x[1], x[2]], attn_mask=torch.randn(1, 11), enable_gqa=True, grads=False)


@pytest.mark.slow
def test_from_one_projection() -> None:
    def attend(x: Tensor, **options: Any) -> Tensor:
        q, k, v = (z.view(2, 21, 4, 8).transpose(1, 2) for z in x.split(32, 2))
        out = F.scaled_dot_product_attention(q, k, v, **options)
        return out.transpose(1, 2).reshape(2, 21, 32)

    compare([torch.randn(2, 21, 96)], attend=attend, is_causal=True)
    compare([torch.randn(2, 21, 96)], attend=attend, attn_mask=torch.randn(21, 21).t())


@pytest.mark.slow
def test_operands_with_steps() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        q, k, v, mask = (x[..., ::2] for x in (q, k, v, mask))
        return F.scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous(), attn_mask=mask)

    def spread(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = F.scaled_dot_product_attention(q, k, v)
        return torch.stack([out, out.detach() * 2], -1)

    x = operands((1, 2, 9, 42), (1, 2, 11, 42))
    compare(x, attend=attend, mask=torch.randn(9, 22))
    compare(x, attend=spread)


@pytest.mark.parametrize("shape", [(2, 0, 3, 4), (0, 2, 3, 4)], ids=str)
def test_nothing(shape: tuple[int, ...]) -> None:
    compare(operands(shape), grads=False)


def test_what_the_kernel_does_not_do() -> None:
    compare(operands((3, 5, 8)))
    compare(operands((1, 2, 5, 8)), attn_mask=torch.randn(5, 5), is_causal=False, scale=2.0)
    q, k, v = operands((1, 2, 5, 8))
    compare([q, k, v[..., :3].contiguous()])


def test_growing_keys_compile_once() -> None:
    def step(length: int) -> None:
        compare(operands((1, 2, 1, 16), (1, 2, length, 16)), grads=False)

    for length in (20, 21, 22):
        step(length)
    before = mlirdev.metrics.snapshot()["compiles"]
    for length in (23, 31, 32, 33, 64, 65):
        step(length)
    assert mlirdev.metrics.snapshot()["compiles"] == before


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_run_time_sizes(causal: bool) -> None:
    for length in (20, 21, 22, 50, 64):
        compare(operands((1, 2, length, 16)), is_causal=causal)


def test_is_one_node_and_one_launch() -> None:
    x = [on_device(t) for t in operands((1, 2, 3, 4))]
    mlirdev.sync()
    before = mlirdev.metrics.snapshot()
    out = F.scaled_dot_product_attention(*x, is_causal=True)
    mlirdev.sync()
    after = mlirdev.metrics.snapshot()
    assert out.shape == (1, 2, 3, 4)
    assert after["ops_recorded"] == before["ops_recorded"] + 1
    assert after["launches"] == before["launches"] + 1


# --- written out by hand ----------------------------------------------------------------------------


def divided(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1) @ v


def filled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = (q @ k.transpose(-2, -1)) * 0.25
    return F.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1) @ v


def filled_with_a_number(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = (q @ k.transpose(-2, -1)) * 0.25
    return F.softmax(scores.masked_fill(mask == 0, -1e4), dim=-1) @ v


def added(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    scores = torch.matmul(q, k.transpose(2, 3)) * 0.25 + mask
    return torch.matmul(F.softmax(scores, dim=-1), v)


def by_batches(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    q, k, v = (x.flatten(0, 1) for x in (q, k, v))
    return torch.bmm(F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1), v)


@pytest.mark.parametrize(
    ("attend", "options", "launches"),
    [
        (divided, {}, 2),
        (filled, {"mask": torch.tril(torch.ones(1, 1, 21, 35))}, 3),
        (filled, {"mask": torch.tril(torch.ones(21, 35), -1)}, 3),  # the first row sees nothing
        (filled_with_a_number, {"mask": torch.tril(torch.ones(21, 35), -1)}, None),
        (added, {"mask": torch.randn(2, 1, 21, 35)}, 2),
        (by_batches, {}, 1),
    ],
)
def test_written_by_hand(attend: Callable[..., Tensor], options: dict[str, Any], launches: int | None) -> None:
    x = operands((2, 3, 21, 16), (2, 3, 35, 16))
    compare(x, grads=False, attend=attend, **options)
    compare(x, attend=attend, **options)
    moved, extra = [on_device(t) for t in x], {name: on_device(value) for name, value in options.items()}
    mlirdev.sync()
    before = mlirdev.metrics.snapshot()["launches"]
    out = attend(*moved, **extra)
    mlirdev.sync()
    assert out.shape[-1] == 16
    assert launches is None or mlirdev.metrics.snapshot()["launches"] == before + launches


def test_weights_that_are_kept() -> None:
    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        weights = torch.softmax(q @ k.transpose(-2, -1), -1)
        return torch.cat([weights @ v, weights], -1)

    compare(operands((1, 2, 21, 16), (1, 2, 35, 16)), grads=False, attend=attend)
