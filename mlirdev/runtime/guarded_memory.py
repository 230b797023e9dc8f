"""Memory that tells of wrong accesses: each piece ends at a page that can't be touched, and is never used again.

    | untouchable | marks | nbytes, to a multiple of 64 | untouchable …

An access behind a piece, more than a page before it, or in one that was released ends the process there and then, which
`python -X faulthandler` says the place of. A write between the page's start and the piece, or into the bytes that fill
it up to 64, is told when the piece is released. What is fresh is full of ones: NaN, or -1.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from typing import TYPE_CHECKING

from mlirdev.errors import InternalError, OutOfMemoryError
from mlirdev.runtime.allocator import Allocator, Block
from mlirdev.runtime.host_memory import ALIGNMENT

if TYPE_CHECKING:
    from mlirdev.runtime.stream import Stream

PAGE = mmap.PAGESIZE
# The address space is taken in such pieces, of which only what is in use costs memory.
_REGION_BYTES = 1 << 40
_MARK, _FRESH = 0xC5, 0xFF

_NONE, _READ_WRITE = 0, mmap.PROT_READ | mmap.PROT_WRITE
_FIXED, _NO_RESERVE = 0x10, 0x4000  # Linux's, as are the streams that this is for
_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_mmap, _mprotect = _libc.mmap, _libc.mprotect
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedMemory:
    """See the module's docstring. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._next = self._end = 0
        self._pieces: dict[int, tuple[int, int, int]] = {}  # by address: its first page, all its pages, its bytes

    def reserve(self, nbytes: int) -> int:
        """The address of `nbytes`, aligned as buffers are, or 0 where the machine has none."""
        pages = _pages(nbytes)
        start = self._untouchable(pages + PAGE)
        if not start or _mprotect(start, pages, _READ_WRITE):
            return 0
        address = start + pages - -(-nbytes // ALIGNMENT) * ALIGNMENT
        ctypes.memset(start, _MARK, pages)
        ctypes.memset(address, _FRESH, nbytes)
        self._pieces[address] = start, pages, nbytes
        return address

    def release(self, address: int) -> None:
        """Let nobody touch a piece any more. Raises InternalError if somebody wrote beside it."""
        start, pages, nbytes = self._pieces.pop(address)
        before = ctypes.string_at(start, address - start)
        behind = ctypes.string_at(address + nbytes, start + pages - address - nbytes)
        _map(start, pages, _FLAGS | _FIXED)
        for name, marks in (("before", before), ("behind", behind)):
            if marks.strip(bytes([_MARK])):
                raise InternalError(f"a kernel wrote {name} a buffer of {nbytes} bytes, at 0x{address:x}")

    def _untouchable(self, nbytes: int) -> int:
        """The address of so many bytes that nothing has used before, 0 if there are none."""
        if self._end - self._next < nbytes:
            size = max(nbytes, _REGION_BYTES)
            self._next = _map(0, size, _FLAGS)
            self._end = self._next + size if self._next else 0
        start = self._next
        self._next += nbytes if start else 0
        return start


class GuardedAllocator(Allocator):
    """An Allocator of such pieces, one for each buffer."""

    def __init__(self, limit: int, lock: threading.RLock, shortage: type[OutOfMemoryError]) -> None:
        super().__init__(limit, lock, shortage)
        self._memory = GuardedMemory()

    def _size(self, nbytes: int) -> int:
        return nbytes

    def _reserve(self, size: int) -> int:
        return self._memory.reserve(size)

    def _give_up(self, address: int) -> None:
        with self._lock:
            self._memory.release(address)

    def _take(self, size: int, stream: Stream) -> Block | None:
        self._collect()
        self._release(self._unused())
        return self._fresh(size, stream)

    def _unused(self) -> list[Block]:
        """The free blocks that no work in flight uses; they leave the free ones."""
        unused = []
        for key, blocks in list(self._free.items()):
            through = [block for block in blocks if block.stream.is_done(block.ticket)]
            unused += through
            self._free[key] = [block for block in blocks if block not in through]
            if not self._free[key]:
                del self._free[key]
        return unused


def _pages(nbytes: int) -> int:
    """The bytes of the pages that hold so many; of one at least."""
    return max(1, -(-nbytes // PAGE)) * PAGE


def _map(address: int, nbytes: int, flags: int) -> int:
    """Memory that can't be touched, at `address` if that is given; 0 if there is none."""
    found = _mmap(address or None, nbytes, _NONE, flags, -1, 0)
    if found != _FAILED:
        return found or 0
    if address:
        raise InternalError(f"memory at 0x{address:x} can't be given back: {os.strerror(ctypes.get_errno())}")
    return 0
