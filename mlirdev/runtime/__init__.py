"""The simulated device: streams, events, memory and launches. Knows addresses and callables; nothing of torch,
MLIR or LLVM.

    Device ─┬─ Stream ── tasks in order, played from a Tape by a native worker ── Event: a point in that order
            ├─ Allocator ── Buffer: memory of a stream, reused in stream order
            └─ Failures ── what went wrong and nobody has seen yet
    PlanRunner: binds a Plan once (memory plan, gather table) and launches it on a stream, many times
    copies: host ↔ device, in stream order

Names and meanings are CUDA's. A failed launch still completes its events; it poisons its outputs and
surfaces at the next wait, or when an output is read.
"""

from mlirdev.runtime.allocator import Allocator
from mlirdev.runtime.buffer import Buffer
from mlirdev.runtime.copies import copy_from_host, copy_on_device, copy_to_host
from mlirdev.runtime.device import Device
from mlirdev.runtime.event import Event
from mlirdev.runtime.memory_plan import MemoryPlan, plan_memory
from mlirdev.runtime.plan_runner import Inspect, PlanRunner, ignored, unchanged
from mlirdev.runtime.stream import Stream

__all__ = [
    "Allocator",
    "Buffer",
    "Device",
    "Event",
    "Inspect",
    "MemoryPlan",
    "PlanRunner",
    "Stream",
    "copy_from_host",
    "copy_on_device",
    "copy_to_host",
    "ignored",
    "plan_memory",
    "unchanged",
]
