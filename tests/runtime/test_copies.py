"""Copies in stream order, blocking or not."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mlirdev.runtime import Device, copy_from_host, copy_on_device, copy_to_host
from mlirdev.runtime.copies import STAGED_BYTES
from tests.runtime.harness import get, put

PATIENCE = 60


def test_there_and_back(device: Device) -> None:
    stream = device.default_stream
    source, target = np.arange(1000, dtype=np.float32), np.zeros(1000, dtype=np.float32)
    buffer = device.allocator.allocate(source.nbytes, stream)
    copy_from_host(stream, buffer, source.ctypes.data, source.nbytes)
    copy_to_host(stream, buffer, target.ctypes.data, target.nbytes)
    assert (source == target).all()


def test_a_part(device: Device) -> None:
    stream, target = device.default_stream, np.zeros(2, dtype=np.float32)
    buffer = put(stream, [1, 2, 3, 4])
    copy_from_host(stream, buffer, np.array([9], dtype=np.float32).ctypes.data, 4, offset=8)
    copy_to_host(stream, buffer, target.ctypes.data, 8, offset=4)
    assert target.tolist() == [2, 9]


@pytest.mark.parametrize("nbytes", [400, 2 * STAGED_BYTES])
def test_a_blocking_copy_has_read_its_source(device: Device, nbytes: int) -> None:
    stream, gate = device.default_stream, threading.Event()
    source = np.ones(nbytes // 4, dtype=np.float32)
    buffer = device.allocator.allocate(nbytes, stream)
    stream.enqueue(lambda: gate.wait(PATIENCE) and None)
    if nbytes > STAGED_BYTES:
        gate.set()
    copy_from_host(stream, buffer, source.ctypes.data, nbytes)
    source[:] = 2
    gate.set()
    assert set(get(buffer)) == {1}


def test_a_non_blocking_copy_reads_its_source_in_stream_order(device: Device) -> None:
    stream, gate = device.default_stream, threading.Event()
    source = np.ones(4, dtype=np.float32)
    buffer = device.allocator.allocate(source.nbytes, stream)
    stream.enqueue(lambda: gate.wait(PATIENCE) and None)
    copy_from_host(stream, buffer, source.ctypes.data, source.nbytes, keep=source, wait=False)
    source[:] = 2
    gate.set()
    assert get(buffer) == [2] * 4


def test_a_non_blocking_copy_to_the_host_is_there_after_synchronize(device: Device) -> None:
    stream, gate, target = device.default_stream, threading.Event(), np.zeros(4, dtype=np.float32)
    buffer = put(stream, [1, 2, 3, 4])
    stream.enqueue(lambda: gate.wait(PATIENCE) and None)
    copy_to_host(stream, buffer, target.ctypes.data, target.nbytes, keep=target, wait=False)
    assert target.tolist() == [0] * 4
    gate.set()
    stream.synchronize()
    assert target.tolist() == [1, 2, 3, 4]


def test_poison_travels_with_a_copy(device: Device) -> None:
    stream = device.default_stream
    source, target = put(stream, [1]), put(stream, [2])
    error = ValueError("broken")
    source.fate.settle(error)
    copy_on_device(stream, target, source, 4)
    stream.synchronize()
    with pytest.raises(ValueError, match="broken"):
        copy_to_host(stream, target, np.zeros(1, dtype=np.float32).ctypes.data, 4)
