"""Fixtures of the runtime's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlirdev.runtime import Device
from tests.runtime.harness import Kernels


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device(1 << 30)
    yield device
    device.drain()
    device.failures.drain()


@pytest.fixture
def kernels() -> Kernels:
    return Kernels()
