"""Plans of Python kernels: order, scalars, dims, host launches, memory, errors."""

from __future__ import annotations

import numpy as np
import pytest

from mlirdev.dtypes import DType
from mlirdev.errors import OutOfMemoryError
from mlirdev.graph import Sym
from mlirdev.plan import DimArg, HostLaunch, Launch, Plan, ScalarArg, Slot, SlotArg
from mlirdev.runtime import Device, PlanRunner
from tests.runtime.harness import RUNALL, Argv, Kernels, get, put, view

N = 4


def vector(length: int | Sym = N) -> Slot:
    return Slot((length,), DType.f32)


def add_scalar(argv: Argv) -> None:
    argv.floats(2, N)[:] = argv.floats(0, N) + argv.scalar(1)


def no_host(*_: object) -> None:
    raise AssertionError("no host launch in this plan")


def describe(launch: Launch, word: tuple[int, int, int, int]) -> Exception:
    return IndexError(f"{launch.kernel} {word}")


def runner(plan: Plan, kernels: Kernels, host: object = no_host) -> PlanRunner:
    return PlanRunner(plan, kernels.signatures, kernels.addresses, RUNALL, host)  # type: ignore[arg-type]


def chain(count: int) -> Plan:
    """in + s, `count` times over."""
    launches = tuple(Launch("add", (SlotArg(i), ScalarArg(0)), (i + 1,)) for i in range(count))
    return Plan((vector(),) * (count + 1), (0,), (count,), launches, scalars=("float",))


def test_seed(device: Device, kernels: Kernels) -> None:
    kernels.add("add", add_scalar)
    stream = device.default_stream
    (y,) = runner(chain(1), kernels).launch(stream, [put(stream, [1, 2, 3, 4])], [2.0], (), 1, describe)
    assert get(y) == [3, 4, 5, 6]
