"""The ops that PyTorch doesn't have on CPU tensors: what a node `mlirdev.…` means, and few others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy import samplers

_MASK = 0xFFFFFFFF


def strided_read(x: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    return x.contiguous().as_strided(tuple(sizes), tuple(strides), offset).clone()


def strided_write(x: Tensor, src: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    result = x.contiguous().clone()
    positions = torch.tensor(offset)
    for size, stride in zip(sizes, strides, strict=True):
        positions = positions.unsqueeze(-1) + torch.arange(size) * stride
    flat, values = result.view(-1), src.reshape(-1)
    # One after the other, so that of two writes to one element the later wins.
    positions = positions.reshape(-1)
    last = torch.full((flat.numel(),), -1).scatter_reduce_(0, positions, torch.arange(positions.numel()), "amax")
    written = last >= 0
    flat[written] = values[last[written]]
    return result


def bitcast(x: Tensor, dtype: torch.dtype) -> Tensor:
    x = x.contiguous()
    if not x.dim():
        return x.view(1).view(dtype).view(())
    return x.view(dtype) if x.numel() else x.new_empty(_scaled(x, dtype), dtype=dtype)


def _scaled(x: Tensor, dtype: torch.dtype) -> tuple[int, ...]:
    return (*x.shape[:-1], x.shape[-1] * x.dtype.itemsize // dtype.itemsize)


def empty(sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    return torch.zeros(tuple(sizes), dtype=dtype)


def philox(seed: int, offset: int, sizes: Sequence[int]) -> Tensor:
    """Philox4x32-10: element e is word e % 4 of the block with 64-bit counter offset + e // 4, key = seed."""
    count = math.prod(sizes)
    counter = torch.arange((count + 3) // 4, dtype=torch.int64) + _signed(offset)
    return torch.stack(_words(seed, counter, 0, 0), dim=1).reshape(-1)[:count].view(tuple(sizes))


def _words(seed: int, counter: Tensor, third: int, fourth: int) -> list[Tensor]:
    """The block's words, each at its counter."""
    rest = [torch.full_like(counter, third), torch.full_like(counter, fourth)]
    words = [counter & _MASK, (counter >> 32) & _MASK, *rest]
    key0, key1 = seed & _MASK, (seed >> 32) & _MASK
    for _ in range(10):
        words = _round(words, key0, key1)
        key0, key1 = (key0 + 0x9E3779B9) & _MASK, (key1 + 0xBB67AE85) & _MASK
    return words


def _round(words: list[Tensor], key0: int, key1: int) -> list[Tensor]:
    high0, low0 = _multiply(0xD2511F53, words[0])
    high1, low1 = _multiply(0xCD9E8D57, words[2])
    return [high1 ^ words[1] ^ key0, low1, high0 ^ words[3] ^ key1, low0]


def _multiply(factor: int, word: Tensor) -> tuple[Tensor, Tensor]:
    """The high and low 32 bits of a product of two 32-bit words, in int64 without overflow."""
    low = factor * (word & 0xFFFF)
    high = factor * (word >> 16)
    middle = high + (low >> 16)
    return (middle >> 16) & _MASK, ((middle & 0xFFFF) << 16) | (low & 0xFFFF)


def _signed(value: int) -> int:
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >= 1 << 63 else value


def _sampled(draw: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def sample(seed: int, offset: int, *parameters: Tensor) -> Tensor:
        flat = [p.reshape(-1) for p in parameters]
        stream = samplers.stream_of(
            lambda key, at, trial: _words(key, at, trial, 1), seed, _signed(offset), flat[0].numel()
        )
        return draw(stream, *flat).view(parameters[0].shape)

    return sample


def multiply_high(x: Tensor, factor: int) -> Tensor:
    """The upper half of the product of numbers of 64 bits without a sign."""
    words, high, low = x.numpy().view("uint64"), (factor >> 32) & _MASK, factor & _MASK
    x_high, x_low = words >> 32, words & _MASK
    middle = x_high * low + (x_low * low >> 32)
    carried = x_low * high + (middle & _MASK)
    return torch.from_numpy((x_high * high + (middle >> 32) + (carried >> 32)).view("int64"))


def linear_backward(
    x: Tensor, grad: Tensor, weight: Tensor, output_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """aten.linear_backward, which PyTorch has on no CPU."""
    rows, columns = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
    return (
        grad @ weight if output_mask[0] else None,
        columns.t() @ rows if output_mask[1] else None,
        columns.sum(0) if output_mask[2] else None,
    )


def lstm_cell(
    input_gates: Tensor, hidden_gates: Tensor, cx: Tensor, input_bias: Tensor | None, hidden_bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """aten._thnn_fused_lstm_cell, which PyTorch has on no CPU."""
    gates = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def lstm_cell_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor | None, ...]:
    """aten._thnn_fused_lstm_cell_backward_impl, which PyTorch has on no CPU."""
    i, f, g, o = workspace.chunk(4, 1)
    tanh_cy = cy.tanh()
    hidden = torch.zeros_like(cy) if grad_hy is None else grad_hy
    cell = hidden * o * (1 - tanh_cy * tanh_cy)
    cell = cell if grad_cy is None else cell + grad_cy
    parts = [cell * g * i * (1 - i), cell * cx * f * (1 - f), cell * i * (1 - g * g), hidden * tanh_cy * o * (1 - o)]
    gates = torch.cat(parts, 1)
    return gates, cell * f, gates.sum(0) if has_bias else None


def nonzero(mask: Tensor, count: int) -> Tensor:
    return torch.nonzero(mask).reshape(count, mask.dim())


def sort_lines(x: Tensor) -> Tensor:
    """The stable permutation that sorts a matrix's lines."""
    order = list(range(x.shape[0]))
    for column in reversed(range(x.shape[1])):
        keys = x[order, column]
        order = [order[i] for i in keys.argsort(stable=True).tolist()]
    return torch.tensor(order, dtype=torch.int64)


def repeated(repeats: Tensor, size: int) -> Tensor:
    return torch.repeat_interleave(repeats, output_size=size)


def require(x: Tensor, ok: Tensor, message: str) -> Tensor:
    if not bool(ok.all()):
        raise RuntimeError(message)
    return x


def eigh(x: Tensor, uplo: str, wanted: bool) -> tuple[Tensor, Tensor]:
    values, vectors = torch.ops.aten._linalg_eigh.default(x, uplo, wanted)
    return values, vectors


def svd(x: Tensor, full_matrices: bool, wanted: bool, driver: str | None) -> tuple[Tensor, Tensor, Tensor]:
    """The handler raises for what isn't finite; here its values are NaN."""
    finite = torch.isfinite(x).flatten(-2).all(-1)[..., None]
    u, values, v = torch.ops.aten._linalg_svd.default(x.nan_to_num(0.0, 0.0, 0.0), full_matrices, wanted, driver=driver)
    return u, torch.where(finite, values, math.nan), v


OWN_OPS: dict[str, Callable[..., Any]] = {
    "mlirdev.strided_read": strided_read,
    "mlirdev.strided_write": strided_write,
    "mlirdev.bitcast": bitcast,
    "mlirdev.empty": empty,
    "mlirdev.philox": philox,
    "mlirdev.multiply_high": multiply_high,
    "mlirdev.standard_gamma": _sampled(samplers.gamma),
    "mlirdev.poisson": _sampled(samplers.poisson),
    "mlirdev.binomial": _sampled(samplers.binomial),
    "mlirdev.nonzero": nonzero,
    "mlirdev.sort_lines": sort_lines,
    "mlirdev.repeated": repeated,
    "mlirdev.require": require,
    "mlirdev.eigh": eigh,
    "mlirdev.svd": svd,
    "aten.linear_backward.default": linear_backward,
    "aten._thnn_fused_lstm_cell.default": lstm_cell,
    "aten._thnn_fused_lstm_cell_backward_impl.default": lstm_cell_backward,
}
