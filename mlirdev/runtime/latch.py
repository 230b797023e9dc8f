"""A Latch: a gate that opens once, from native code or from Python, and that either can wait for.

It is a POSIX semaphore: `sem_post` opens it, and who passes posts again for the next one. Both take one
pointer, so they can stand among a plan's kernels (see `tape`) and cost no GIL there.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque

import numpy as np

from mlirdev.errors import UnsupportedError

# Larger than sem_t everywhere; a cache line, so that latches don't share one.
_BYTES = 64
_SLAB = 1024

if sys.platform != "linux":
    raise UnsupportedError(f"mlirdev's streams need unnamed POSIX semaphores, which {sys.platform} lacks; use Linux")

# CDLL lets go of the GIL during a call, PyDLL keeps it: for what returns at once.
_waiting, _quick = ctypes.CDLL(None, use_errno=True), ctypes.PyDLL(None)
_sem_wait = _waiting.sem_wait
_sem_trywait, _sem_init, sem_post = _quick.sem_trywait, _quick.sem_init, _quick.sem_post
_sem_wait.argtypes = _sem_trywait.argtypes = sem_post.argtypes = [ctypes.c_void_p]
_sem_init.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]

SEM_POST: int = ctypes.cast(_waiting.sem_post, ctypes.c_void_p).value or 0
SEM_WAIT: int = ctypes.cast(_sem_wait, ctypes.c_void_p).value or 0

_slabs: list[np.ndarray] = []
_unused: deque[int] = deque()


def new_semaphore() -> int:
    """The address of a semaphore at 0; `_unused.append` gives it back."""
    if not _unused:
        slab = np.zeros(_SLAB * _BYTES, dtype=np.uint8)
        _slabs.append(slab)
        _unused.extend(range(int(slab.ctypes.data), int(slab.ctypes.data) + _SLAB * _BYTES, _BYTES))
    address = _unused.popleft()
    _sem_init(address, 0, 0)
    return address


class Latch:
    """See the module's docstring. Whoever has its address in native hands must keep the object alive."""

    __slots__ = ("_seen_open", "address")

    def __init__(self) -> None:
        self.address = new_semaphore()
        self._seen_open = False

    def __del__(self) -> None:
        _unused.append(self.address)

    def is_open(self) -> bool:
        """May miss an opening while another thread is just passing; then it is told the next time."""
        if not self._seen_open and not _sem_trywait(self.address):
            sem_post(self.address)
            self._seen_open = True
        return self._seen_open

    def wait(self) -> None:
        """Return when it is open. Ctrl-C interrupts this on the main thread."""
        # Non-zero: a signal came, whose Python handler runs before the next round and may raise.
        while _sem_wait(self.address):
            pass
        sem_post(self.address)
        self._seen_open = True
