"""One workload's speed after warm-up.

All engines are in this process, on copies of the same weights. Their first steps are compared with eager's, then
rounds alternate (eager, inductor, device, device, inductor, eager, …), every step is waited for, and two sets of
inputs take turns, so that a result that was kept, or a buffer left as it was, shows as a wrong value.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

import mlirdev
from benchmarks.engines import ENGINES, Engine
from benchmarks.workloads import WORKLOADS, Job, Workload

CHECKED_STEPS = 3


@dataclass
class Contestant:
    engine: Engine
    job: Job
    first_s: float = 0.0
    first_results: list[list[Tensor]] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)
    steps: int = 0
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)

    def step(self) -> tuple[list[Tensor], float, float]:
        """One step, waited for: results, seconds, CPU seconds of all threads."""
        cpu, start = time.process_time(), time.perf_counter()
        results = self.job.step(self.steps)
        self.engine.synchronize()
        self.steps += 1
        return results, time.perf_counter() - start, time.process_time() - cpu


def measure(workload: str, threads: int, engines: list[str], rounds: int, round_ms: float) -> dict[str, Any]:
    """A row: for each engine its rounds' seconds per step, cores used, compiles, and how far its values are off."""
    torch.set_num_threads(threads)
    what = WORKLOADS[workload]
    contestants = {}
    for name in engines:
        engine = ENGINES[name]
        contestants[name] = Contestant(engine, what.make(engine.device, engine.wrap))
        _first_steps(contestants[name])
    apart = {name: _apart(c, contestants["eager"], _initial(what)) for name, c in contestants.items()}
    compiles = {name: c.engine.compiles() for name, c in contestants.items()}
    _rounds(list(contestants.values()), rounds, round_ms / 1e3)
    return {
        "workload": workload,
        "group": what.group,
        "threads": threads,
        "tolerance": what.tolerance,
        "fallbacks": sum(mlirdev.metrics.snapshot()["fallbacks"].values()),
        "engines": {
            name: {
                "rounds_s": c.walls,
                "cores": statistics.median(c.cpus),
                "first_s": c.first_s,
                "apart": max(apart[name], _last_apart(c, contestants["eager"])),
                "steady_compiles": c.engine.compiles() - compiles[name],
            }
            for name, c in contestants.items()
        },
    }


def _initial(workload: Workload) -> list[Tensor]:
    return [w.clone() for w in workload.make("cpu", lambda function: function).weights()]


def _first_steps(contestant: Contestant) -> None:
    for number in range(CHECKED_STEPS):
        results, seconds, _ = contestant.step()
        if number == 0:
            contestant.first_s = seconds
        contestant.first_results.append([r.cpu().clone() for r in results])
    contestant.weights = [w.cpu().clone() for w in contestant.job.weights()]


def _rounds(contestants: list[Contestant], rounds: int, seconds: float) -> None:
    """Alternate; the first round only warms up."""
    per_round = [max(1, min(200, int(seconds / min(c.step()[1] for _ in range(2))))) for c in contestants]
    for number in range(-1, rounds):
        pairs = list(zip(contestants, per_round, strict=True))
        for contestant, count in pairs if number % 2 else pairs[::-1]:
            steps = [contestant.step()[1:] for _ in range(count)]
            if number >= 0:
                contestant.walls.append(statistics.median(wall for wall, _ in steps))
                contestant.cpus.append(sum(cpu for _, cpu in steps) / sum(wall for wall, _ in steps))


# --- values ---------------------------------------------------------------------------------------


def _apart(ours: Contestant, eager: Contestant, initial: list[Tensor]) -> float:
    """How far the first steps' results are off, and the weights after them, relative to how far those moved."""
    values = max(
        apart(a, b)
        for mine, theirs in zip(ours.first_results, eager.first_results, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )
    if not initial:
        return values
    off, moved = _distance(ours.weights, eager.weights), _distance(eager.weights, initial)
    # An optimizer that goes by the sign of gradients doubles a tiny one's rounding error: 50 times the tolerance.
    return max(values, off / moved / 50)


def _distance(weights: list[Tensor], others: list[Tensor]) -> float:
    return float(torch.cat([(w - other).flatten() for w, other in zip(weights, others, strict=True)]).norm())


def _last_apart(ours: Contestant, eager: Contestant) -> float:
    """The same after all rounds, for what doesn't train."""
    if ours.weights or ours is eager:
        return 0.0
    ours.steps = eager.steps
    return max(apart(a.cpu(), b) for a, b in zip(ours.step()[0], eager.step()[0], strict=True))


def apart(ours: Tensor, theirs: Tensor) -> float:
    """The larger of the greatest difference and the norm of all, relative to the greatest value and norm."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    a, b = ours.double(), theirs.double()
    if not torch.equal(a.isfinite(), b.isfinite()):
        return float("inf")
    a, b = a.nan_to_num(), b.nan_to_num()
    largest = (a - b).abs().max() / b.abs().max().clamp_min(1e-30)
    whole = (a - b).norm() / b.norm().clamp_min(1e-30)
    return float(torch.maximum(largest, whole))
