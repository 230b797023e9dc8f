"""Reuse in stream order, record_stream, shortage, statistics."""

from __future__ import annotations

import gc
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlirdev.errors import OutOfMemoryError
from mlirdev.runtime import Device
from mlirdev.runtime.allocator import size_class

PATIENCE = 60


@given(st.integers(0, 1 << 40))
def test_size_classes_hold_what_was_asked_for_with_little_waste(nbytes: int) -> None:
    size = size_class(nbytes)
    assert size >= max(nbytes, 1)
    assert size % 64 == 0
    assert size <= max(64, nbytes + 64, nbytes * 9 // 8)
    assert size_class(size) == size


def test_memory_is_aligned_and_writable(device: Device) -> None:
    for nbytes in (0, 1, 63, 64, 65, 4097, 3 << 20):
        assert device.allocator.allocate(nbytes, device.default_stream).address % 64 == 0


def test_a_dead_buffers_memory_is_reused_on_its_stream_at_once(device: Device) -> None:
    stream, gate = device.default_stream, threading.Event()
    buffer = device.allocator.allocate(1000, stream)
    address = buffer.address
    stream.enqueue(lambda: gate.wait(PATIENCE) and None)
    del buffer
    assert device.allocator.allocate(1000, stream).address == address
    gate.set()


def test_memory_of_one_stream_is_not_given_to_another(device: Device) -> None:
    buffer = device.allocator.allocate(1000, device.default_stream)
    address = buffer.address
    del buffer
    other = device.allocator.allocate(1000, device.new_stream())
    assert other.address != address


def test_record_stream_delays_reuse(device: Device) -> None:
    own, other, gate = device.default_stream, device.new_stream(), threading.Event()
    buffer = device.allocator.allocate(1000, own)
    address = buffer.address
    other.enqueue(lambda: gate.wait(PATIENCE) and None)
    buffer.record_stream(other)
    del buffer
    second = device.allocator.allocate(1000, own)
    assert second.address != address
    gate.set()
    other.synchronize()
    assert device.allocator.allocate(1000, own).address == address


def test_shortage_says_what_was_asked_for_and_what_is_free(device: Device) -> None:
    device.allocator.limit = 10 << 20
    stream = device.default_stream
    held = device.allocator.allocate(4 << 20, stream)
    with pytest.raises(OutOfMemoryError, match=r"8\.00 MiB were asked for, 6\.00 MiB of 10\.00 MiB are free") as info:
        device.allocator.allocate(8 << 20, stream)
    assert "MLIRDEV_MEMORY_MB" in str(info.value)
    stats = device.allocator.memory_stats()
    assert stats["num_ooms"] == 1
    assert stats["allocated_bytes.all.current"] == held.nbytes


def test_shortage_takes_cached_memory_of_other_sizes_and_streams(device: Device) -> None:
    device.allocator.limit = 10 << 20
    other = device.new_stream()
    device.allocator.allocate(6 << 20, other)
    assert device.allocator.memory_stats()["reserved_bytes.all.current"] == 6 << 20
    buffer = device.allocator.allocate(8 << 20, device.default_stream)
    assert buffer.nbytes == 8 << 20
    assert device.allocator.memory_stats()["num_ooms"] == 0


def test_empty_cache_waits_for_the_work_that_may_use_it(device: Device) -> None:
    stream, seen = device.default_stream, []
    buffer = device.allocator.allocate(1 << 20, stream)
    stream.enqueue(lambda: seen.append(1))
    del buffer
    device.allocator.empty_cache()
    assert seen == [1]
    assert device.allocator.memory_stats()["reserved_bytes.all.current"] == 0


def test_statistics(device: Device) -> None:
    stream, stats = device.default_stream, device.allocator.memory_stats
    a = device.allocator.allocate(1000, stream)
    b = device.allocator.allocate(2 << 20, stream)
    assert stats()["requested_bytes.all.current"] == 1000 + (2 << 20)
    assert stats()["allocation.small_pool.current"] == 1
    assert stats()["active.large_pool.current"] == 1
    peak = stats()["allocated_bytes.all.peak"]
    assert peak == size_class(1000) + (2 << 20)
    del a, b
    assert stats()["allocated_bytes.all.current"] == 0
    assert stats()["allocated_bytes.all.peak"] == peak
    assert stats()["allocated_bytes.all.freed"] == stats()["allocated_bytes.all.allocated"] == peak
    device.allocator.stats.reset_peak()
    assert stats()["allocated_bytes.all.peak"] == 0
    device.allocator.stats.reset_accumulated()
    assert stats()["allocated_bytes.all.allocated"] == 0
    assert device.allocator.memory_info() == (1 << 30, 1 << 30)


def test_buffers_may_die_in_the_garbage_collector(device: Device) -> None:
    for _ in range(2000):
        cycle: list[object] = [device.allocator.allocate(100, device.default_stream)]
        cycle.append(cycle)
    gc.collect()
    assert device.allocator.memory_stats()["allocation.all.current"] <= 1
