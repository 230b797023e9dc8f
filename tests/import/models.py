"""Whole models, forward and backward, as captured graphs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F


class Block(nn.Module):
    """A transformer block as GPT-2 has it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.qkv(self.ln1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer)
        self.conv2, self.bn2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer)
        self.skip = nn.Sequential()
        if stride != 1 or inner != outer:
            self.skip = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class ResNet18(nn.Module):
    def __init__(self, width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        layers, inner = [], width
        for i in range(4):
            outer = width << i
            layers += [Residual(inner, outer, 1 if i == 0 else 2), Residual(outer, outer, 1)]
            inner = outer
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(inner, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 3, 2, 1)
        x = F.adaptive_avg_pool2d(self.layers(x), 1)
        return self.head(torch.flatten(x, 1))


class Decoder(nn.Module):
    """Token embeddings, blocks, a head: trained by cross entropy."""

    def __init__(self, tokens: int, width: int, heads: int, depth: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(64, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(depth)])
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        return self.head(self.ln(self.blocks(h)))


class AutoEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
        self.up = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.up(self.down(x)))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.0), nn.Linear(64, 10))


def capture(module: nn.Module, loss: Callable[[torch.Tensor], torch.Tensor] | None, x: torch.Tensor):
    """(fx graph, inputs): the module's output, or the loss with all gradients; buffers' new values last."""
    state: dict[str, Any] = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    names = list(state)
    trained = [n for n, _ in module.named_parameters()]

    def forward(*values: torch.Tensor):
        current = {n: v.clone() if n not in trained else v for n, v in zip(names, values[1:], strict=True)}
        out = functional_call(module, current, (values[0],))
        return out, [current[n] for n in names if n not in trained and current[n].is_floating_point()]

    def step(*values: torch.Tensor):
        assert loss is not None
        positions = tuple(i + 1 for i, n in enumerate(names) if n in trained)

        def value_and_buffers(*current: torch.Tensor):
            out, buffers = forward(*current)
            return loss(out), buffers

        grads, (value, buffers) = torch.func.grad_and_value(value_and_buffers, positions, has_aux=True)(*values)
        return [value, *grads, *buffers]

    def evaluate(*values: torch.Tensor):
        with torch.no_grad():
            out, buffers = forward(*values)
            return [out, *buffers]

    inputs = [x, *[v.detach().clone() for v in state.values()]]
    fn = evaluate if loss is None else step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gm = make_fx(functionalize(fn, remove="mutations_and_views"), tracing_mode="fake", _allow_non_fake_inputs=True)(
            *inputs
        )
    gm.graph.eliminate_dead_code()
    return gm, inputs, fn(*inputs)
