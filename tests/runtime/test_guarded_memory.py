"""Accesses out of bounds, and to memory that was freed, are told."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from mlirdev.errors import InternalError, OutOfMemoryError
from mlirdev.runtime import Device
from mlirdev.runtime.guarded_memory import PAGE, GuardedMemory

SIZES = (1, 63, 64, 65, 4000, PAGE, PAGE + 1, 100_000)


@pytest.fixture
def guarded() -> Iterator[Device]:
    device = Device(1 << 30, guarded=True)
    yield device
    device.drain()


def write(address: int, count: int = 1) -> None:
    ctypes.memset(address, 7, count)


@pytest.mark.parametrize("nbytes", SIZES)
def test_memory_is_aligned_filled_with_ones_and_writable(nbytes: int) -> None:
    memory = GuardedMemory()
    address = memory.reserve(nbytes)
    assert address % 64 == 0
    assert ctypes.string_at(address, nbytes) == b"\xff" * nbytes
    write(address, nbytes)
    memory.release(address)


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("side", ["before", "behind"])
def test_a_write_beside_a_piece_is_told_when_it_is_released(nbytes: int, side: str) -> None:
    memory = GuardedMemory()
    address = memory.reserve(nbytes)
    start = address // PAGE * PAGE
    wrong = address - 1 if side == "before" else address + nbytes
    if wrong < start or wrong % PAGE == 0:
        return  # that one ends the process: below
    write(wrong)
    with pytest.raises(InternalError, match=f"wrote {side} a buffer of {nbytes} bytes"):
        memory.release(address)


# Each in a child of its own, which a fault ends.
FAULTS = {
    "reads behind": "ctypes.string_at(address + 128, 1)",
    "writes behind": "ctypes.memset(address + 128, 0, 1)",
    "writes a page before": "ctypes.memset(address - 4096, 0, 1)",
    "reads what was freed": "memory.release(address); ctypes.string_at(address, 1)",
    "reads what was freed, though there is a new one": "memory.release(address); memory.reserve(128); "
    "ctypes.string_at(address, 1)",
    "is right": "ctypes.memset(address, 0, 128)",
}
CHILDREN = """
import ctypes, os, resource
from mlirdev.runtime.guarded_memory import GuardedMemory
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for fault in {faults!r}:
    if not (child := os.fork()):
        memory = GuardedMemory()
        address = memory.reserve(128)
        exec(fault)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
"""


def test_what_is_touched_wrongly_ends_the_process() -> None:
    program = CHILDREN.format(faults=list(FAULTS.values()))
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    signals = dict(zip(FAULTS, map(int, result.stdout.split()), strict=True))
    assert signals == {name: 0 if name == "is right" else signal.SIGSEGV for name in FAULTS}


def test_memory_of_a_dead_buffer_is_not_used_again(guarded: Device) -> None:
    stream, seen = guarded.default_stream, set()
    for _ in range(20):
        buffer = guarded.allocator.allocate(100, stream)
        assert buffer.address not in seen
        seen.add(buffer.address)
    assert guarded.allocator.memory_stats()["segment.all.current"] <= 2


def test_memory_goes_back_once_the_work_that_may_use_it_is_done(guarded: Device) -> None:
    stream, gate, segments = guarded.default_stream, threading.Event(), "segment.all.current"
    buffer = guarded.allocator.allocate(100, stream)
    address = buffer.address
    stream.enqueue(lambda: gate.wait(60) and write(address))
    del buffer
    other = guarded.allocator.allocate(100, stream)
    assert guarded.allocator.memory_stats()[segments] == 2
    gate.set()
    stream.synchronize()
    del other
    held = guarded.allocator.allocate(100, stream)
    assert guarded.allocator.memory_stats()[segments] == 1
    assert held.nbytes == 100


def test_a_write_beside_a_buffer_is_told_by_the_device(guarded: Device) -> None:
    buffer = guarded.allocator.allocate(100, guarded.default_stream)
    write(buffer.address + 100)
    del buffer
    with pytest.raises(InternalError, match="a kernel wrote behind a buffer of 100 bytes"):
        guarded.allocator.allocate(1, guarded.default_stream)
    guarded.allocator.allocate(1, guarded.default_stream)


def test_shortage_is_told_as_ever(guarded: Device) -> None:
    with pytest.raises(OutOfMemoryError, match=r"2\.00 GiB were asked for"):
        guarded.allocator.allocate(2 << 30, guarded.default_stream)
