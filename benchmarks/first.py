"""Seconds of the first call in a fresh process: cold with an empty cache folder, warm with the same folder again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks import models
from benchmarks.engines import ENGINES
from benchmarks.steady import apart

TOLERANCE = 1e-3


@dataclass(frozen=True)
class Model:
    make: Callable[[], nn.Module]
    input: Callable[[int], Tensor]  # of a batch size
    trains: bool = False


MODELS = {
    "tanh": Model(nn.Tanh, lambda b: torch.randn(b, 16)),
    "mlp": Model(lambda: models.mlp(784, 1024, 1024, 10), lambda b: torch.randn(16 * b, 784)),
    "block": Model(lambda: models.Block(256, 4), lambda b: torch.randn(b, 64, 256)),
    "block_backward": Model(lambda: models.Block(256, 4), lambda b: torch.randn(b, 64, 256), trains=True),
    "resnet18": Model(models.resnet18, lambda b: torch.randn(b, 3, 96, 96)),
    "gpt2_small": Model(lambda: models.GPT(12, 768, 12, 50257), lambda b: torch.randint(50257, (b, 32))),
}


class Caller:
    """A model on an engine; a call is forward, and backward if it trains."""

    def __init__(self, name: str, engine: str) -> None:
        self.engine, self.trains = ENGINES[engine], MODELS[name].trains
        torch.manual_seed(0)
        self.model = MODELS[name].make().train(self.trains).to(self.engine.device)
        self.called = self.engine.wrap(self.model)

    def call(self, x: Tensor) -> tuple[list[Tensor], float]:
        """Results, and seconds until they are there."""
        here = x.to(self.engine.device)
        self.engine.synchronize()
        start = time.perf_counter()
        if self.trains:
            self.model.zero_grad()
            y = self.called(here)
            y.square().mean().backward()
            results = [y.detach(), *(p.grad for p in self.model.parameters() if p.grad is not None)]
        else:
            with torch.no_grad():
                results = [self.called(here)]
        self.engine.synchronize()
        return results, time.perf_counter() - start


def measure(model: str, engine: str, threads: int) -> dict[str, Any]:
    """A row: seconds of the first and the second call, compiles, how far the values are from eager's."""
    torch.set_num_threads(threads)
    caller = Caller(model, engine)
    x = MODELS[model].input(1)
    results, first = caller.call(x)
    row = {"model": model, "engine": engine, "first_s": first, "compiles": caller.engine.compiles()}
    eager, _ = Caller(model, "eager").call(x)
    off = max(apart(a.cpu(), b) for a, b in zip(results, eager, strict=True))
    return {**row, "second_s": caller.call(x)[1], "apart": off, "tolerance": TOLERANCE}
