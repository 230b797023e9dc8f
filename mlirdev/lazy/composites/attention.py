"""The fast path of `nn.TransformerEncoderLayer` and `nn.MultiheadAttention` in evaluation, in PyTorch's own ops."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mlirdev.lazy.handlers import handles

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
