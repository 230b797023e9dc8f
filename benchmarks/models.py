"""The models that are measured: plain PyTorch, no knowledge of any device."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Cache = list[tuple[Tensor, Tensor]]


def mlp(*widths: int) -> nn.Module:
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Block(nn.Module):
    """GPT-2's transformer block. With a cache, keys and values of earlier calls come before this call's."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        return self.cached(x, None)[0]

    def cached(self, x: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, 2)
        q, k, v = (p.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for p in parts)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x)), (k, v)


class GPT(nn.Module):
    """GPT-2, with the embedding as its head."""

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, context: int = 1024) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for table in (self.tokens, self.positions):
            nn.init.normal_(table.weight, std=0.02)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.cached(tokens, [])[0]

    def cached(self, tokens: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        past = cache[0][0].shape[2] if cache else 0
        x = self.tokens(tokens) + self.positions(torch.arange(past, past + tokens.shape[1], device=tokens.device))
        grown: Cache = []
        for i, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            x, pair = block.cached(x, cache[i] if cache else None)
            grown.append(pair)
        return self.head(self.norm(x)), grown


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inner, outer, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outer),
            nn.ReLU(),
            nn.Conv2d(outer, outer, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outer),
        )
        same = inner == outer and stride == 1
        short = [] if same else [nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)]
        self.short = nn.Sequential(*short)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.short(x))


def resnet18(classes: int = 1000) -> nn.Module:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    for inner, outer, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        layers += [Residual(inner, outer, stride), Residual(outer, outer, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def depthwise_block(channels: int) -> nn.Module:
    """MobileNet's: a depthwise convolution, then a pointwise one."""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, 1, 1, groups=channels, bias=False),
        nn.BatchNorm2d(channels),
        nn.ReLU6(),
        nn.Conv2d(channels, channels, 1, bias=False),
        nn.BatchNorm2d(channels),
    )


class LSTM(nn.Module):
    def __init__(self, width: int, hidden: int, layers: int, classes: int) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(width, hidden, layers, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.lstm(x)[0][:, -1])
        return out
