"""What an op costs on tensors so small that nothing else counts: recording on the device beside eager on the CPU.

`record` is the Python time until just before the wait, `total` includes the wait; both per op, the medians of
interleaved rounds.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

import mlirdev
from benchmarks import models
from benchmarks.engines import ENGINES

Body = Callable[[int], Tensor]
ROUNDS, WARM_UP = 15, 6


def small(device: str, *shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(device)


def chain(device: str) -> Body:
    x, y = small(device, 4, 4), small(device, 4, 4, seed=1)

    def body(i: int) -> Tensor:
        z = x
        for _ in range(200):
            z = torch.tanh(torch.relu((z + y) * 0.5) - y)
        return z

    return body


def chain_backward(device: str) -> Body:
    x, y = small(device, 4, 4).requires_grad_(), small(device, 4, 4, seed=1)

    def body(i: int) -> Tensor:
        with torch.enable_grad():
            z = x
            for _ in range(100):
                z = torch.tanh(z + y) * 0.5
            (gradient,) = torch.autograd.grad(z.sum(), x)
        return gradient

    return body


def views(device: str) -> Body:
    x = small(device, 4, 8)

    def body(i: int) -> Tensor:
        v = x
        for _ in range(125):
            v = v.t().transpose(0, 1).unsqueeze(0).squeeze(0).view(2, 2, 8)
            v = v.permute(1, 0, 2).permute(1, 0, 2).reshape(4, 8)
        return v + 1

    return body


def in_place(device: str) -> Body:
    x = small(device, 4, 4)

    def body(i: int) -> Tensor:
        z = x.clone()
        for _ in range(250):
            z.add_(1.0).mul_(0.5)
        return z

    return body


def changing_scalars(device: str) -> Body:
    x = small(device, 4, 4)

    def body(i: int) -> Tensor:
        z = x
        for k in range(100):
            z = z * (1.0 + 0.001 * (i + k))
        return z

    return body


def item(device: str) -> Body:
    x = small(device, 1)

    def body(i: int) -> Tensor:
        (x + 1.0).item()
        return x

    return body


def training(device: str) -> Body:
    """A GPT's training step with AdamW, so small that the host decides its time."""
    torch.manual_seed(0)
    model = models.GPT(2, 32, 2, 64, context=16).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(64, (1, 8), generator=torch.Generator().manual_seed(0)).to(device)

    def body(i: int) -> Tensor:
        with torch.enable_grad():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
            torch.autograd.backward(loss)
            optimizer.step()
        return loss.detach()

    return body


# Name → (body maker, PyTorch calls in one body; None: as many as are recorded).
CASES: dict[str, tuple[Callable[[str], Body], int | None]] = {
    "chain of 1000": (chain, 1000),
    "chain, backward too": (chain_backward, None),
    "views": (views, 1000),
    "in place": (in_place, 501),
    "changing scalars": (changing_scalars, 100),
    "one op and .item()": (item, 2),
    "GPT training step": (training, None),
}


def measure(case: str, threads: int) -> dict[str, Any]:
    """A row of seconds per op that was recorded; after warm-up nothing may compile."""
    torch.set_num_threads(threads)
    make, calls = CASES[case]
    bodies = {name: make(ENGINES[name].device) for name in ("eager", "device")}
    times: dict[str, list[float]] = {"eager_s": [], "record_s": [], "total_s": []}
    before: dict[str, Any] = {}
    results = {}
    with torch.no_grad():
        for step in range(WARM_UP + ROUNDS):
            if step == WARM_UP:
                before = mlirdev.metrics.snapshot()
            for name, body in bodies.items():
                results[name], recorded, total = _timed(body, step, ENGINES[name].synchronize)
                if step >= WARM_UP and name == "eager":
                    times["eager_s"].append(total)
                elif step >= WARM_UP:
                    times["record_s"].append(recorded)
                    times["total_s"].append(total)
    after = mlirdev.metrics.snapshot()
    ops = calls or (after["ops_recorded"] - before["ops_recorded"]) // ROUNDS
    return {
        "case": case,
        "ops": ops,
        **{key: statistics.median(values) / ops for key, values in times.items()},
        "compiles": after["compiles"] - before["compiles"],
        "agree": torch.allclose(results["device"].cpu(), results["eager"], rtol=1e-3, atol=1e-4),
    }


def _timed(body: Body, step: int, synchronize: Callable[[], None]) -> tuple[Tensor, float, float]:
    with _no_collection():
        start = time.perf_counter()
        result = body(step)
        recorded = time.perf_counter()
        synchronize()
        return result, recorded - start, time.perf_counter() - start


@contextmanager
def _no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
