"""A native clock that can stand among kernels: one pointer in, nothing out."""

from __future__ import annotations

import time
from functools import lru_cache

from mlirdev.jit.link import Kernel, link
from mlirdev.jit.modules import parse_assembly
from mlirdev.jit.target import machine, resolve_target
from mlirdev.target import load_target

# CLOCK is the number of the clock that time.perf_counter_ns reads, so that the two can be compared.
_STAMP = """
declare i32 @clock_gettime(i32, ptr)

define void @stamp(ptr %at) {
  %now = alloca [2 x i64], align 8
  %failed = call i32 @clock_gettime(i32 CLOCK, ptr %now)
  %nanoseconds_at = getelementptr inbounds i64, ptr %now, i64 1
  %seconds = load i64, ptr %now
  %nanoseconds = load i64, ptr %nanoseconds_at
  %scaled = mul i64 %seconds, 1000000000
  %sum = add i64 %scaled, %nanoseconds
  store i64 %sum, ptr %at
  ret void
}
"""


@lru_cache
def _stamp() -> Kernel:
    # Its own context: an LLVM module holds on to the one that it was parsed in.
    module = parse_assembly(_STAMP.replace("CLOCK", str(time.CLOCK_MONOTONIC)))
    return link({"stamp": machine(resolve_target(load_target("host"))).emit_object(module)})["stamp"]


def stamp_address() -> int:
    """The address of `void stamp(i64 *at)`: writes `time.perf_counter_ns()` to `at`."""
    return _stamp().address
