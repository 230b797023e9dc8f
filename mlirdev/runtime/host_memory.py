"""Raw, aligned memory of the host, which is the device's memory too: the one place that calls the C library for it."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys

# One cache line and one AVX-512 vector; the kernel ABI (plan.Signature) promises it.
ALIGNMENT = 64

if sys.platform == "win32":
    _msvcrt = ctypes.CDLL("msvcrt")
    _aligned_malloc = _msvcrt._aligned_malloc
    _aligned_malloc.restype = ctypes.c_void_p
    _aligned_malloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    _aligned_free = _msvcrt._aligned_free
    _aligned_free.restype = None
    _aligned_free.argtypes = [ctypes.c_void_p]

    def reserve(nbytes: int) -> int:
        """The address of `nbytes` of fresh memory, or 0 where the machine has none."""
        return _aligned_malloc(nbytes, ALIGNMENT) or 0

else:
    _libc = ctypes.CDLL(None)
    _posix_memalign = _libc.posix_memalign
    _posix_memalign.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_size_t]
    _aligned_free = _libc.free
    _aligned_free.restype = None
    _aligned_free.argtypes = [ctypes.c_void_p]

    def reserve(nbytes: int) -> int:
        """The address of `nbytes` of fresh memory, or 0 where the machine has none."""
        address = ctypes.c_void_p()
        failed = _posix_memalign(ctypes.byref(address), ALIGNMENT, nbytes)
        return 0 if failed else address.value or 0


def release(address: int) -> None:
    """Give memory of `reserve` back."""
    _aligned_free(address)


def machine_bytes() -> int:
    """The machine's physical memory in bytes."""
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return sys.maxsize
