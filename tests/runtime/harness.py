"""Kernels written in Python, and a `runall` that calls them, for tests of the runtime alone."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable

import numpy as np

from mlirdev.dtypes import DType
from mlirdev.plan import ABI_ERROR, ABI_PARAMS, ABI_THREADS, BufferParam, Signature
from mlirdev.runtime import Buffer, Stream

Entry = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p))
RunAll = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def _runall(functions: int, argvs: int, count: int) -> None:
    for i in range(count):
        function = ctypes.c_void_p.from_address(functions + 8 * i).value
        argv = ctypes.c_void_p.from_address(argvs + 8 * i).value
        Entry(function)(ctypes.cast(argv, ctypes.POINTER(ctypes.c_void_p)))


_runall_callback = RunAll(_runall)
RUNALL: int = ctypes.cast(_runall_callback, ctypes.c_void_p).value or 0


Stamp = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_stamp_callback = Stamp(lambda at: ctypes.memmove(at, time.perf_counter_ns().to_bytes(8, sys.byteorder), 8) and None)
STAMP: int = ctypes.cast(_stamp_callback, ctypes.c_void_p).value or 0


class Argv:
    """What a kernel gets: the packed array, by the Signature's order."""

    def __init__(self, pointers: ctypes._Pointer[ctypes.c_void_p]) -> None:
        self._pointers = pointers

    def _address(self, position: int) -> int:
        return self._pointers[position] or 0

    @property
    def error(self) -> np.ndarray:
        return view(self._address(ABI_ERROR), 4, np.int64)

    @property
    def threads(self) -> int:
        return int(view(self._address(ABI_THREADS), 1, np.int64)[0])

    def floats(self, param: int, count: int) -> np.ndarray:
        return view(self._address(ABI_PARAMS + param), count, np.float32)

    def scalar(self, param: int, kind: type = np.float64) -> float:
        return view(self._address(ABI_PARAMS + param), 1, kind)[0].item()


def view(address: int, count: int, dtype: type) -> np.ndarray:
    """Memory at an address as an array."""
    nbytes = count * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * nbytes).from_address(address), dtype=dtype)


class Kernels:
    """Python functions on an Argv, made callable by address, with Signatures of f32 vectors."""

    def __init__(self) -> None:
        self.addresses: dict[str, int] = {}
        self.signatures: dict[str, Signature] = {}
        self._alive: list[object] = []

    def add(self, key: str, body: Callable[[Argv], None], workspace: int = 0) -> None:
        entry = Entry(lambda pointers: body(Argv(pointers)))
        self._alive.append(entry)
        self.addresses[key] = ctypes.cast(entry, ctypes.c_void_p).value or 0
        self.signatures[key] = Signature((BufferParam((None,), DType.f32),), (), workspace=workspace)


def put(stream: Stream, values: list[float]) -> Buffer:
    """A buffer with these floats."""
    buffer = stream.device.allocator.allocate(4 * len(values), stream)
    view(buffer.address, len(values), np.float32)[:] = values
    return buffer


def get(buffer: Buffer) -> list[float]:
    """A buffer's floats, when its stream has written them."""
    buffer.stream.synchronize()
    buffer.check()
    return [float(x) for x in view(buffer.address, buffer.nbytes // 4, np.float32)]
