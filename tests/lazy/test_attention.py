"""The fast path of transformer layers in evaluation, with each kind of mask, against the CPU's."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import mlirdev

LENGTH, WIDTH = 5, 8


def masks() -> dict[str, dict[str, Tensor]]:
    causal = nn.Transformer.generate_square_subsequent_mask(LENGTH)
    padding = torch.zeros(2, LENGTH, dtype=torch.bool)
    padding[1, 3:] = True
    return {
        "none": {},
        "causal": {"src_mask": causal},
        "causal, bool": {"src_mask": causal.isinf()},
        "padding": {"src_key_padding_mask": padding},
        "both": {"src_mask": causal.isinf(), "src_key_padding_mask": padding},
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"norm_first": True, "activation": "gelu"}], ids=str)
@pytest.mark.parametrize("name", masks())
def test_encoder_layer(name: str, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, batch_first=True, **options).eval()
    x, mask = torch.randn(2, LENGTH, WIDTH), masks()[name]
    with torch.no_grad():
        wanted = layer(x, **mask)
        with mlirdev.no_fallback():
            ours = layer.to("mlirdev")(x.to("mlirdev"), **{k: v.to("mlirdev") for k, v in mask.items()})
    seen = ~mask["src_key_padding_mask"] if name == "padding" else slice(None)
    torch.testing.assert_close(ours.cpu()[seen], wanted[seen])


@pytest.mark.parametrize("average", [True, False])
def test_attention_gives_its_weights(average: bool) -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True).eval()
    x = torch.randn(2, LENGTH, WIDTH)
    with torch.no_grad(), mlirdev.no_fallback():
        wanted = attention(x, x, x, average_attn_weights=average)
        d = x.to("mlirdev")
        ours = attention.to("mlirdev")(d, d, d, average_attn_weights=average)
    for a, b in zip(ours, wanted, strict=True):
        torch.testing.assert_close(a.cpu(), b)
