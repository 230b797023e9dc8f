"""The models that the benchmarks run: plain PyTorch, made on the CPU with a seed. Each is (model, batches, trains)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Block(nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        logits: Tensor = self.head(self.norm(self.blocks(x)))
        return logits


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
        self.short = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.body(x) + self.short(x))


def resnet18() -> nn.Module:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    for inner, outer, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        layers += [Residual(inner, outer, stride), Residual(outer, outer, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class LSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.lstm(x)[0][:, -1])
        return out


class Autoencoder(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 3, 4, 2, 1),
        )


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


def small_steps(parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
    """For batch norm over few values, where AdamW makes steps of a tiny gradient's rounding error."""
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)


@dataclass(frozen=True)
class Workload:
    """`batch(b)` makes inputs of batch size b; `trains`: forward, backward and an optimizer step."""

    make: Callable[[], nn.Module]
    batch: Callable[[int], Tensor]
    size: int
    trains: bool = False
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW


WORKLOADS = {
    "mlp": Workload(mlp, lambda b: torch.randn(b, 784), 64),
    "mlp_sgd_step": Workload(
        mlp, lambda b: torch.randn(b, 784), 64, True, lambda p: torch.optim.SGD(p, 0.01, momentum=0.9)
    ),
    "gpt_block": Workload(lambda: Block(256, 4), lambda b: torch.randn(b, 64, 256), 4),
    "gpt2_block": Workload(lambda: Block(768, 12), lambda b: torch.randn(b, 128, 768), 1),
    "gpt2_block_step": Workload(lambda: Block(768, 12), lambda b: torch.randn(b, 128, 768), 1, True),
    "gpt_step": Workload(lambda: GPT(256, 64, 128, 4, 2), lambda b: torch.randint(256, (b, 64)), 16, True),
    "resnet18": Workload(resnet18, lambda b: torch.randn(b, 3, 224, 224), 1),
    "resnet18_step": Workload(resnet18, lambda b: torch.randn(b, 3, 64, 64), 4, True, small_steps),
    "lstm_step": Workload(LSTM, lambda b: torch.randn(b, 16, 64), 8, True),
    "autoencoder_step": Workload(Autoencoder, lambda b: torch.randn(b, 3, 32, 32), 8, True, torch.optim.Adam),
    "twelve_blocks": Workload(
        lambda: nn.Sequential(*[Block(256, 4) for _ in range(12)]), lambda b: torch.randn(b, 64, 256), 1
    ),
}


class Runner:
    """A workload on a device; `step(i)` does one iteration on input set i % 2 and returns tensors to compare."""

    def __init__(self, name: str, device: str, compiled: bool = False) -> None:
        self.workload = WORKLOADS[name]
        torch.manual_seed(0)
        self.model = self.workload.make().train(self.workload.trains).to(device)
        self.inputs = [self.workload.batch(self.workload.size).to(device) for _ in range(2)]
        self.optimizer = self.workload.optimizer(self.model.parameters()) if self.workload.trains else None
        self.forward = torch.compile(self.model) if compiled else self.model

    def step(self, i: int) -> list[Tensor]:
        if self.optimizer is None:
            with torch.no_grad():
                return [self.forward(self.inputs[i % 2])]
        self.optimizer.zero_grad()
        loss = self.forward(self.inputs[i % 2]).square().mean()
        loss.backward()
        self.optimizer.step()
        return [loss.detach()]

    def state(self) -> list[Tensor]:
        return [p.detach() for p in self.model.parameters()]


def apart(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """The largest difference, relative to the largest value of its tensor."""
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        a, b = a.cpu().double(), b.cpu().double()
        if a.shape != b.shape or not torch.equal(a.isfinite(), b.isfinite()):
            return float("inf")
        worst = max(worst, float((a - b).abs().max() / b.abs().max().clamp_min(1e-12)))
    return worst
