"""Who computes a workload: a device, how its functions are wrapped, how it is waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

import mlirdev
from benchmarks.workloads import Wrap


def _synchronize() -> None:
    torch.mlirdev.synchronize()  # type: ignore[attr-defined]


def _device_compiles() -> int:
    return int(mlirdev.metrics.snapshot()["compiles"])


def _inductor_compiles() -> int:
    from torch._dynamo.utils import counters

    return int(counters["stats"].get("unique_graphs", 0))


@dataclass(frozen=True)
class Engine:
    device: str
    wrap: Wrap
    synchronize: Callable[[], None] = lambda: None
    compiles: Callable[[], int] = lambda: 0


ENGINES = {
    "eager": Engine("cpu", lambda function: function),
    "inductor": Engine("cpu", torch.compile, compiles=_inductor_compiles),
    "device": Engine("mlirdev", lambda function: function, _synchronize, _device_compiles),
    "device_compile": Engine(
        "mlirdev", lambda function: torch.compile(function, backend="mlirdev"), _synchronize, _device_compiles
    ),
}
