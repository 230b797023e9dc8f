"""The native clock is Python's."""

from __future__ import annotations

import ctypes
import time

from mlirdev.jit import stamp_address


def test_the_clock_is_pythons() -> None:
    at = ctypes.c_int64()
    before = time.perf_counter_ns()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(stamp_address())(ctypes.addressof(at))
    assert before <= at.value <= time.perf_counter_ns()
