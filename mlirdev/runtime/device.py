"""The Device: its streams, its memory and its failures; what happens to them at fork and at exit."""

from __future__ import annotations

import atexit
import io
import itertools
import os
import sys
import threading
import traceback
import weakref
from typing import TextIO

from mlirdev.errors import OutOfMemoryError
from mlirdev.runtime.allocator import Allocator
from mlirdev.runtime.failures import Failures
from mlirdev.runtime.guarded_memory import GuardedAllocator
from mlirdev.runtime.host_memory import machine_bytes
from mlirdev.runtime.stream import Stream
from mlirdev.runtime.tape import RunAll, runall_in_python

# Streams come from a pool, as CUDA's do: a program that makes one per step doesn't gather threads.
STREAM_POOL = 32

FORKED = (
    "Cannot re-initialize mlirdev in forked subprocess. To use mlirdev with multiprocessing, "
    "you must use the 'spawn' start method"
)


class Device:
    """A simulated device with `memory_bytes` of memory (0: the machine's), whose want raises `shortage`; `guarded`:
    every access out of bounds ends the process. One per process."""

    def __init__(
        self, memory_bytes: int = 0, shortage: type[OutOfMemoryError] = OutOfMemoryError, guarded: bool = False
    ) -> None:
        self.in_bad_fork = False
        # One lock for streams and memory: they use each other, and all sections are short. Reentrant: a
        # finaliser that the garbage collector runs inside may use the device again.
        self.lock = threading.RLock()
        self.failures = Failures()
        self.memory_bytes = memory_bytes or machine_bytes()
        self.allocator = (GuardedAllocator if guarded else Allocator)(self.memory_bytes, self.lock, shortage)
        self.runall: RunAll = runall_in_python
        self.default_stream = Stream(self, 0)
        self._pool: list[Stream] = []
        self._next = itertools.count()
        _devices.add(self)

    def check(self) -> None:
        """Raise if this process is a fork of the one that uses the device: its threads and memory stayed there."""
        if self.in_bad_fork:
            raise RuntimeError(FORKED)

    def new_stream(self) -> Stream:
        """A stream of the pool, round robin."""
        self.check()
        with self.lock:
            index = next(self._next) % STREAM_POOL
            if index == len(self._pool):
                self._pool.append(Stream(self, index + 1))
            return self._pool[index]

    @property
    def streams(self) -> list[Stream]:
        return [self.default_stream, *self._pool]

    def runs_here(self) -> bool:
        """Is the calling thread in the middle of a task?"""
        return any(stream.runs_here() for stream in self.streams)

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


def drain_devices() -> None:
    """Wait for all streams of all devices of this process, leaving failures noted."""
    for device in _devices:
        if not device.in_bad_fork:
            device.drain()


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
    sys.stderr = _FailAtEnd(sys.stderr)


class _FailAtEnd(io.TextIOBase):
    """Standard error whose last flush fails: an exit handler has no other way to the exit code (which becomes
    120) that lets the handlers behind it run once and the interpreter end in order."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(text)

    def fileno(self) -> int:
        return self._file.fileno()

    def flush(self) -> None:
        self._file.flush()
        if sys._getframe().f_back is None:  # called by the interpreter itself, at its end
            raise OSError("work launched earlier failed")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_at_exit)
