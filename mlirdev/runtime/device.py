"""The Device: its streams, its memory and its failures; what happens to them at fork and at exit."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import threading
import traceback
import weakref

from mlirdev.runtime.allocator import Allocator
from mlirdev.runtime.failures import Failures
from mlirdev.runtime.host_memory import machine_bytes
from mlirdev.runtime.stream import Stream

# Streams come from a pool, as CUDA's do: a program that makes one per step doesn't gather threads.
STREAM_POOL = 32

FORKED = (
    "Cannot re-initialize mlirdev in forked subprocess. To use mlirdev with multiprocessing, "
    "you must use the 'spawn' start method"
)


class Device:
    """A simulated device with `memory_bytes` of memory (0: the machine's). One per process."""

    def __init__(self, memory_bytes: int = 0) -> None:
        self.in_bad_fork = False
        self.failures = Failures()
        self.allocator = Allocator(memory_bytes or machine_bytes())
        self.default_stream = Stream(self, 0)
        self._pool: list[Stream] = []
        self._next = itertools.count()
        self._lock = threading.Lock()
        _devices.add(self)

    def check(self) -> None:
        """Raise if this process is a fork of the one that uses the device: its threads and memory stayed there."""
        if self.in_bad_fork:
            raise RuntimeError(FORKED)

    def new_stream(self) -> Stream:
        """A stream of the pool, round robin."""
        self.check()
        with self._lock:
            index = next(self._next) % STREAM_POOL
            if index == len(self._pool):
                self._pool.append(Stream(self, index + 1))
            return self._pool[index]

    @property
    def streams(self) -> list[Stream]:
        return [self.default_stream, *self._pool]

    def synchronize(self) -> None:
        """Wait for all streams; raise the first failure that nobody has seen."""
        self.check()
        self.drain()
        self.failures.raise_first()

    def drain(self) -> None:
        """Wait for all streams, leaving failures noted."""
        for stream in self.streams:
            stream.wait_for(stream.ticket)


_devices: weakref.WeakSet[Device] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for device in _devices:
        device.in_bad_fork = True


def _at_exit() -> None:
    """Drain the streams. A failure that nobody saw is printed and makes the exit code non-zero."""
    errors: list[BaseException] = []
    for device in _devices:
        if not device.in_bad_fork:
            device.drain()
            errors += device.failures.drain()
    if not errors:
        return
    for error in errors:
        print("mlirdev: work launched earlier failed, and nothing waited for it:", file=sys.stderr)
        traceback.print_exception(error)
    # Nothing raised here would reach the exit code. The other exit handlers still run, then the process ends.
    atexit.unregister(_at_exit)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
