"""Compiles while sizes change: batch sizes one after another, and a cache that grows by a token at a time."""

from __future__ import annotations

import time
from typing import Any

import torch

from benchmarks import models
from benchmarks.engines import ENGINES
from benchmarks.first import MODELS, TOLERANCE, Caller
from benchmarks.steady import apart

BATCHES = range(1, 9)
LENGTHS = 64
SWEEPS = {"batches mlp": "mlp", "batches block": "block", "batches block_backward": "block_backward"}
NAMES = [*SWEEPS, "growing cache"]


def measure(what: str, engine: str, threads: int) -> dict[str, Any]:
    """A row with, for every call, its compiles and seconds."""
    torch.set_num_threads(threads)
    calls, off = _growing_cache(engine) if what not in SWEEPS else _batches(SWEEPS[what], engine)
    before = 0 if what in SWEEPS else 1  # the prompt isn't a step
    return {"what": what, "engine": engine, "calls": calls, "before": before, "apart": off, "tolerance": TOLERANCE}


def _batches(model: str, engine: str) -> tuple[list[dict[str, float]], float]:
    caller, eager = Caller(model, engine), Caller(model, "eager")
    calls, off = [], 0.0
    for batch in BATCHES:
        x = MODELS[model].input(batch)
        before = caller.engine.compiles()
        results, seconds = caller.call(x)
        calls.append({"compiles": caller.engine.compiles() - before, "seconds": seconds})
        off = max(off, *(apart(a.cpu(), b) for a, b in zip(results, eager.call(x)[0], strict=True)))
    return calls, off


def _growing_cache(engine: str) -> tuple[list[dict[str, float]], float]:
    chosen = ENGINES[engine]
    torch.manual_seed(0)
    plain = models.GPT(4, 256, 4, 2000).eval()
    prompt, given = torch.randint(2000, (1, 8)), torch.randint(2000, (LENGTHS, 1, 1))
    eager = _decode(plain.cached, prompt, given)
    model = plain.to(chosen.device)
    step = chosen.wrap(model.cached)
    calls: list[dict[str, float]] = []

    def called(*arguments: Any) -> Any:
        before, start = chosen.compiles(), time.perf_counter()
        result = step(*arguments)
        chosen.synchronize()
        calls.append({"compiles": chosen.compiles() - before, "seconds": time.perf_counter() - start})
        return result

    logits = _decode(called, prompt.to(chosen.device), given.to(chosen.device))
    return calls, apart(logits.cpu(), eager)


def _decode(step: Any, prompt: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        logits, cache = step(prompt, [])
        for token in given:
            logits, cache = step(token, cache)
    result: torch.Tensor = logits
    return result
