"""A Tape: what a stream's worker thread runs, as two arrays of addresses that grow under its hands.

    functions   wait  k1  k2  k3  post  wait  python  post  wait  …
    arguments   work  p1  p2  p3  latch work  token   latch work

The worker is one native call, `runall(functions, arguments, capacity)`, which reads an entry only when it
comes to it. The last entry written is always a wait on the semaphore `work`: appending a task means writing
its entries behind it and posting `work` once. So the worker goes from plan to plan without the GIL, beside a
main thread that is busy in Python; only Python callables take it, as callbacks. A full tape is left through
its end, over entries that do nothing, and the worker comes back for the next one.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from mlirdev.runtime.latch import SEM_POST, SEM_WAIT

CAPACITY = 1 << 15

# What a task is made of: native entries (functions, arguments), or a callable that doesn't raise.
Native: TypeAlias = tuple[np.ndarray, np.ndarray]
Part: TypeAlias = "Native | Callable[[], None]"

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_callables: dict[int, Callable[[], None]] = {}
_tokens = itertools.count(1)


def _call(token: int) -> None:
    _callables.pop(token)()


_call_entry = _Callback(_call)
_CALL: int = ctypes.cast(_call_entry, ctypes.c_void_p).value or 0
# free(NULL) does nothing.
_NOTHING: int = ctypes.cast(ctypes.CDLL(None).free, ctypes.c_void_p).value or 0


# void(ptr functions, ptr arguments, i64 n): functions[i](arguments[i]), in order.
RunAll: TypeAlias = Callable[[int, int, int], None]
RUNALL_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_ENTRY_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def runall_in_python(functions: int, arguments: int, count: int) -> None:
    """The same loop for as long as nobody has given a native one; it leaves a full tape at once."""
    for offset in range(0, 8 * count, 8):
        function = ctypes.c_int64.from_address(functions + offset).value
        if function == _NOTHING:
            return
        _ENTRY_TYPE(function)(ctypes.c_int64.from_address(arguments + offset).value)


class Tape:
    """See the module's docstring. Written with the stream's lock held."""

    def __init__(self, work: int, runall: RunAll, least: int) -> None:
        self.runall = runall
        self.capacity = max(CAPACITY, least)
        self._functions = np.full(self.capacity, _NOTHING, dtype=np.int64)
        self._arguments = np.zeros(self.capacity, dtype=np.int64)
        self._work = work
        self._functions[0], self._arguments[0] = SEM_WAIT, work
        self._end = 1

    def play(self) -> None:
        """Run it from the start through its end: what the worker does."""
        self.runall(int(self._functions.ctypes.data), int(self._arguments.ctypes.data), self.capacity)

    def has_room(self, count: int) -> bool:
        return self._end + count <= self.capacity

    def append(self, parts: Sequence[Part], latch: int) -> None:
        """Write a task, with the opening of its latch and the next wait."""
        end = self._end
        for part in parts:
            if callable(part):
                token = next(_tokens)
                _callables[token] = part
                self._functions[end], self._arguments[end] = _CALL, token
                end += 1
            else:
                after = end + len(part[0])
                self._functions[end:after], self._arguments[end:after] = part
                end = after
        self._functions[end : end + 2] = SEM_POST, SEM_WAIT
        self._arguments[end : end + 2] = latch, self._work
        self._end = end + 2


def entries(parts: Sequence[Part]) -> int:
    """How many entries a task takes on a tape."""
    return 2 + sum(1 if callable(part) else len(part[0]) for part in parts)


def forget_callables() -> None:
    """In a forked child, where no worker will come for them."""
    _callables.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_callables)
