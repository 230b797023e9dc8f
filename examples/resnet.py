#!/usr/bin/env python3
"""Train a ResNet18 to tell drawn shapes apart, on the device and on the CPU side by side.

    python examples/resnet.py                     the two beside each other: the losses must agree
    python examples/resnet.py --device cpu --alone
    mlirdev run --explore out examples/resnet.py --steps 3

The pictures are drawn here: discs, squares, crosses and rings of any colour on noise, (batch, 3, size, size).
"""

from __future__ import annotations

import argparse
import itertools
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SHAPES = ("disc", "square", "cross", "ring")


def draw(count: int, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """So many pictures, (count, 3, size, size), and the number of each one's shape."""
    labels = torch.randint(len(SHAPES), (count,), generator=generator)
    radius, center_x, center_y = torch.rand((3, count, 1, 1), generator=generator) * size / 8 + size / 4
    y, x = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    dx, dy = (x - center_x).abs(), (y - center_y).abs()
    far = (dx.square() + dy.square()).sqrt()
    inside = torch.maximum(dx, dy) < radius
    masks = torch.stack(
        [
            far < radius,
            inside,
            inside & (torch.minimum(dx, dy) < radius / 3),
            (far < radius) & (far > radius / 2),
        ]
    )
    mask = masks[labels, torch.arange(count)].float()[:, None]
    colour = torch.rand((count, 3, 1, 1), generator=generator)
    return mask * colour + torch.rand((count, 3, size, size), generator=generator) / 2, labels


class Block(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outside)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        pairs = list(itertools.pairwise(widths))
        self.stages = nn.Sequential(
            *(
                nn.Sequential(Block(inside, outside, 1 if i == 0 else 2), Block(outside, outside, 1))
                for i, (inside, outside) in enumerate(pairs)
            )
        )
        self.head = nn.Linear(8 * width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


class Trainer:
    """A model with its optimizer, on one device."""

    def __init__(self, device: str, width: int, rate: float, seed: int) -> None:
        torch.manual_seed(seed)
        self.device = device
        self.model = ResNet18(len(SHAPES), width).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), rate, momentum=0.9)
        self.seconds = 0.0

    def step(self, x: Tensor, target: Tensor) -> float:
        """One step on a batch; its loss."""
        start = time.perf_counter()
        loss = F.cross_entropy(self.model(x.to(self.device)), target.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        self.seconds += time.perf_counter() - start
        return value


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a ResNet18 to tell drawn shapes apart.")
    parser.add_argument("--device", default="mlirdev")
    parser.add_argument("--alone", action="store_true", help="don't train on the CPU beside the device")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=64, help="pixels along a side")
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage; ResNet18 has 64")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    devices = [args.device] if args.alone or args.device == "cpu" else [args.device, "cpu"]
    trainers = [Trainer(device, args.width, args.lr, args.seed) for device in devices]
    generator = torch.Generator().manual_seed(args.seed)
    apart = 0.0
    for step in range(args.steps):
        losses = [trainer.step(*batch) for batch in [draw(args.batch, args.size, generator)] for trainer in trainers]
        # Rounding grows from step to step, as it does between any two devices; so only the start is compared.
        if step < 3:
            apart = max(apart, abs(losses[0] - losses[-1]) / losses[-1])
        if step % 5 == 0 or step == args.steps - 1:
            print(f"step {step:3}", *(f"{t.device} {loss:.4f}" for t, loss in zip(trainers, losses, strict=True)))
    for trainer in trainers:
        print(f"{trainer.device}: {trainer.seconds:.1f} s of training")
    print(f"in the first steps the losses agree: at most {apart:.1e} apart (relative)")
    return int(apart > 1e-2)


if __name__ == "__main__":
    raise SystemExit(main())
