#!/usr/bin/env python3
"""Train a small GPT on the characters of this project's own source text, and let it write some.

    python examples/char_gpt.py                   on the device mlirdev, with the CPU beside it
    python examples/char_gpt.py --device cpu      on the CPU alone

Two copies of one model, the same weights and the same batches, are trained side by side. For the first --check-steps
steps dropout is off and the two losses must agree; then it is on, and since each device draws its own dropout masks,
the losses only go the same way from there.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("mlirdev", "tests", "examples", "scripts")


# --- the text -------------------------------------------------------------------------------------


class Text:
    """Source files as one tensor of character numbers, the last tenth kept for validation."""

    def __init__(self, root: Path) -> None:
        files = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
        text = "\n\n".join(path.read_text() for path in files)
        self.characters = sorted(set(text))
        self.number = {character: i for i, character in enumerate(self.characters)}
        data = torch.tensor(self.encode(text))
        cut = len(data) * 9 // 10
        self.train, self.valid = data[:cut], data[cut:]

    def encode(self, text: str) -> list[int]:
        return [self.number[character] for character in text]


def get_batch(data: Tensor, batch: int, context: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random stretches of text, (batch, context), and the same shifted by one: what comes next."""
    starts = torch.randint(len(data) - context, (batch,), generator=generator)
    x = torch.stack([data[i : i + context] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + context] for i in starts])
    return x, y


# --- the model ------------------------------------------------------------------------------------


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        p = self.dropout.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(batch, length, width)
        return self.dropout(self.out(y))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, dropout)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int, context: int, layers: int, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self._init)

    def _init(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss

    @torch.no_grad()
    def generate(self, tokens: Tensor, count: int, temperature: float = 0.8) -> Iterator[int]:
        """What the model writes after `tokens` (1, length), a character at a time."""
        for _ in range(count):
            logits, _ = self(tokens[:, -self.context :])
            probabilities = F.softmax(logits[:, -1] / temperature, dim=-1)
            tokens = torch.cat([tokens, torch.multinomial(probabilities, num_samples=1)], dim=1)
            yield int(tokens[0, -1])


# --- training -------------------------------------------------------------------------------------


class Training:
    """A model on a device with its optimizer and learning-rate schedule."""

    def __init__(self, args: argparse.Namespace, vocabulary: int, device: str) -> None:
        torch.manual_seed(args.seed)  # the weights are made on the CPU, so every device gets the same
        self.device = device
        self.model = GPT(vocabulary, args.context, args.layers, args.width, args.heads, args.dropout).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.1)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: lr_factor(step, args))
        self.seconds = 0.0

    def step(self, x: Tensor, y: Tensor, with_dropout: bool) -> Tensor:
        """One optimizer step; the loss, left on the device."""
        start = time.perf_counter()
        self.model.train(with_dropout)
        _, loss = self.model(x.to(self.device), y.to(self.device))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.seconds += time.perf_counter() - start
        return loss.detach()

    @torch.no_grad()
    def evaluate(self, batches: list[tuple[Tensor, Tensor]]) -> float:
        """The mean loss on batches that are never trained on, without dropout."""
        start = time.perf_counter()
        self.model.eval()
        losses = torch.stack([self.model(x.to(self.device), y.to(self.device))[1] for x, y in batches])
        mean = losses.mean().item()
        self.seconds += time.perf_counter() - start
        return mean


def lr_factor(step: int, args: argparse.Namespace) -> float:
    """Linear warm-up, then a cosine down to a tenth."""
    if step < args.warmup:
        return (step + 1) / args.warmup
    progress = (step - args.warmup) / max(1, args.steps - args.warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, progress)))


def train(args: argparse.Namespace, text: Text, runs: list[Training]) -> float:
    """Train all runs on the same batches, printing their losses side by side; the largest relative difference between
    them while dropout was off."""
    generator = torch.Generator().manual_seed(args.seed)
    valid = [get_batch(text.valid, args.batch, args.context, generator) for _ in range(4)]
    apart = 0.0
    print("step      lr    dropout  " + "".join(f"{r.device:>9} loss {'valid':>8}  " for r in runs))
    for step in range(args.steps):
        x, y = get_batch(text.train, args.batch, args.context, generator)
        with_dropout = step >= args.check_steps
        lr = runs[0].schedule.get_last_lr()[0]
        losses = [run.step(x, y, with_dropout) for run in runs]
        if step == args.check_steps - 1 or step % args.every == 0 or step == args.steps - 1:
            values = [loss.item() for loss in losses]
            shown = "".join(f"{v:>14.4f} {run.evaluate(valid):>8.4f}  " for v, run in zip(values, runs, strict=True))
            print(f"{step:4d}  {lr:.1e}  {'on' if with_dropout else 'off':>7}  {shown}", flush=True)
            if not with_dropout:
                apart = max(apart, *(abs(v - values[-1]) / values[-1] for v in values))
    return apart


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="mlirdev")
    parser.add_argument("--alone", action="store_true", help="don't train on the CPU beside the device")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--check-steps", type=int, default=21, help="first steps, without dropout, that must agree")
    parser.add_argument("--every", type=int, default=20, help="steps from one evaluation to the next")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--sample", type=int, default=240, help="characters to write at the end")
    args = parser.parse_args()

    text = Text(ROOT)
    devices = [args.device] if args.alone or args.device == "cpu" else [args.device, "cpu"]
    runs = [Training(args, len(text.characters), device) for device in devices]
    size = sum(p.numel() for p in runs[0].model.parameters())
    print(f"{len(text.train):,} characters of source, {len(text.characters)} different; {size:,} parameters")
    apart = train(args, text, runs)

    model = runs[0].model.eval()
    print(f"\n--- written by the model on {args.device}\ndef ", end="")
    prompt = torch.tensor([text.encode("def ")], device=args.device)
    for number in model.generate(prompt, args.sample):
        print(text.characters[number], end="", flush=True)
    print("\n---")
    for run in runs:
        print(f"{run.device}: {run.seconds:.1f} s of training and evaluation")
    if len(runs) > 1:
        agree = apart <= 1e-3
        print(f"without dropout the losses {'agree' if agree else 'DISAGREE'}: at most {apart:.1e} apart (relative)")
        return 0 if agree else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
