"""Small versions of the models that people train, written in plain PyTorch, with seeded data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Optimizer = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 33), nn.Tanh(), nn.Linear(33, 10))

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(self.layers(x), target)


class BasicBlock(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Sequential()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


class ResNet18(nn.Module):
    def __init__(self, classes: int = 10, width: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1)
        widths = [width, 2 * width, 4 * width, 8 * width]
        blocks: list[nn.Module] = []
        inside = width
        for i, outside in enumerate(widths):
            blocks += [BasicBlock(inside, outside, 1 if i == 0 else 2), BasicBlock(outside, outside, 1)]
            inside = outside
        self.blocks = nn.Sequential(*blocks)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inside, classes)

    def features(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        return self.fc(torch.flatten(self.average(self.blocks(x)), 1))

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(self.features(x), target)


class Block(nn.Module):
    """A pre-norm transformer block with causal attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(
        self, layers: int = 2, width: int = 48, heads: int = 3, vocabulary: int = 65, context: int = 32
    ) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Tensor, target: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        logits = self.head(self.norm(self.blocks(x)))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), target.view(-1))


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(12, 24, num_layers=2, batch_first=True)
        self.fc = nn.Linear(24, 5)

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        y, _ = self.lstm(x)
        return F.cross_entropy(self.fc(y[:, -1]), target)


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.1))
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 3, 2, 1, output_padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(self.decoder(self.encoder(x)), target)


class BagOfWords(nn.Module):
    """Embedding and cross-entropy, with a padding index and ignored targets."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 16, padding_idx=0)
        self.fc = nn.Linear(16, 50)

    def forward(self, ids: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(self.fc(self.embedding(ids)).flatten(0, 1), target.flatten(), ignore_index=3)


@dataclass(frozen=True)
class Case:
    """A model, how its batch number i is made, and its optimizer."""

    name: str
    model: Callable[[], nn.Module]
    batch: Callable[[torch.Generator], tuple[Tensor, Tensor]]
    optimizer: Optimizer


def _rand(*shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.rand(*shape, generator=g)


def _int(high: int, *shape: int) -> Callable[[torch.Generator], Tensor]:
    return lambda g: torch.randint(high, shape, generator=g)


def _pair(
    x: Callable[[torch.Generator], Tensor], y: Callable[[torch.Generator], Tensor]
) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    return lambda g: (x(g), y(g))


def _same(x: Callable[[torch.Generator], Tensor]) -> Callable[[torch.Generator], tuple[Tensor, Tensor]]:
    return lambda g: (lambda t: (t, t))(x(g))


def sgd(lr: float = 0.05) -> Optimizer:
    return lambda parameters: torch.optim.SGD(parameters, lr=lr, momentum=0.9)


def adamw(foreach: bool) -> Optimizer:
    return lambda parameters: torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.1, foreach=foreach)


CASES = [
    Case("mlp", Mlp, _pair(_rand(16, 20), _int(10, 16)), sgd()),
    # Small steps: with bigger ones a rounding error of one part in 10^7 changes the losses' second digit by step 8.
    Case("resnet18", lambda: ResNet18(width=16), _pair(_rand(4, 3, 64, 64), _int(10, 4)), sgd(lr=1e-4)),
    Case("gpt_foreach", Gpt, _pair(_int(65, 4, 32), _int(65, 4, 32)), adamw(foreach=True)),
    Case("gpt_single", Gpt, _pair(_int(65, 4, 32), _int(65, 4, 32)), adamw(foreach=False)),
    Case("lstm", Lstm, _pair(_rand(6, 7, 12), _int(5, 6)), sgd()),
    Case("autoencoder", Autoencoder, _same(_rand(4, 1, 28, 28)), lambda p: torch.optim.Adam(p, lr=1e-3)),
    Case("bag_of_words", BagOfWords, _pair(_int(50, 6, 9), _int(50, 6, 9)), sgd()),
]
