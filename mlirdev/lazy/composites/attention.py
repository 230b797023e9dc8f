"""Attention: as one node where the CPU has one kernel for it, else in PyTorch's own ops.

scaled_dot_product_attention is recorded as the CPU's flash kernel, whose derivative is another such node, under the
conditions on which the CPU takes that. `nn.TransformerEncoderLayer` and `nn.MultiheadAttention` have a fast path of
their own in evaluation.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad

from mlirdev.lazy.handlers import composes, handles

_sdpa = torch.ops.aten.scaled_dot_product_attention.default
_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_FLASH_DTYPES = frozenset({torch.float32, torch.float64, torch.bfloat16, torch.float16})


@composes("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if not dropout_p and _suits_flash(query, key, value, attn_mask, is_causal, enable_gqa):
        return _flash(query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale)[0]
    # What PyTorch composes for any device, after its checks.
    return _sdpa._op_dk(
        torch._C.DispatchKey.CompositeImplicitAutograd,
        *(query, key, value, attn_mask, dropout_p, is_causal),
        scale=scale,
        enable_gqa=enable_gqa,
    )


def _suits_flash(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, shares_heads: bool
) -> bool:
    """ATen's conditions in native/transformers/sdp_utils_cpp.cpp, and that no derivative is asked that it lacks."""
    if query.dtype not in _FLASH_DTYPES or not torch._C._get_flash_sdp_enabled() or forward_ad._current_level >= 0:
        return False
    tensors = (query, key, value)
    if any(t.dim() != 4 or t.dtype != query.dtype or t.device != query.device or t.stride(3) != 1 for t in tensors):
        return False
    batch, heads, rows, size = query.shape
    key_batch, key_heads, columns, key_size = key.shape
    if (
        key.shape != value.shape
        or (batch, size) != (key_batch, key_size)
        or not all((batch, heads, rows, columns, size))
    ):
        return False
    if heads != key_heads and not (shares_heads and key_heads and heads % key_heads == 0):
        return False
    return mask is None or (not is_causal and _suits_mask(mask, query, columns))


def _suits_mask(mask: Tensor, query: Tensor, columns: int) -> bool:
    if mask.device != query.device or mask.dtype not in (torch.bool, query.dtype) or mask.requires_grad:
        return False
    scores = (*query.shape[:-1], columns)
    if mask.dim() not in (2, 4):
        return False
    return all(a in (1, b) for a, b in zip(mask.shape, scores[-mask.dim() :], strict=True))


# What PyTorch's `mask_type` says of a mask; without it, it has the scores' shape. True: not to be looked at.
_SOURCE, _KEY_PADDING = 0, 1


def _additive(mask: Tensor, mask_type: int | None, dtype: torch.dtype) -> Tensor:
    """The mask as what is added to scores of batch × heads × queries × keys."""
    if mask_type == _KEY_PADDING:
        mask = mask[:, None, None, :]
    elif mask_type == _SOURCE:
        mask = mask[None, None]
    if mask.dtype is not torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -torch.inf)


@handles("_native_multi_head_attention")
def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        F.linear(x, w, b).reshape(*x.shape[:2], num_head, -1).transpose(1, 2)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    scores = (q * (embed_dim / num_head) ** -0.5) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores + _additive(mask, mask_type, scores.dtype)
    attention = scores.softmax(-1)
    out = F.linear((attention @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights:
        return out, query.new_empty(0)
    return out, attention.mean(1) if average_attn_weights else attention


@handles("_transformer_encoder_layer_fwd")
def _transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    projections = (qkv_weight, qkv_bias, proj_weight, proj_bias)

    def attend(x: Tensor) -> Tensor:
        out: Tensor = _native_multi_head_attention(
            x, x, x, embed_dim, num_heads, *projections, mask, need_weights=False, mask_type=mask_type
        )[0]
        return out

    def feed_forward(x: Tensor) -> Tensor:
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

    def first_norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second_norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attend(first_norm(src))
        return x + feed_forward(second_norm(x))
    x = first_norm(src + attend(src))
    return second_norm(x + feed_forward(x))
