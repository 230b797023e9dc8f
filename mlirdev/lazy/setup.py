"""Turning the device on: with the first device tensor, not with `import torch`."""

from __future__ import annotations

import threading

from torch.optim.optimizer import register_optimizer_step_post_hook

# logs and metrics listen to events from when they are imported; `mlirdev` itself imports explain.
from mlirdev import compiler, logs, metrics  # noqa: F401  (logs is imported to listen)
from mlirdev.lazy import autocast, doors, flush, forward_ad, host, limits, patches, storage_methods, trace
from mlirdev.lazy.device import device
from mlirdev.lazy.register import register_all

_lock = threading.Lock()
_done = False


def is_done() -> bool:
    """Has the device been used?"""
    return _done


def ensure() -> None:
    """Register with PyTorch and start recording, once per process."""
    global _done
    with _lock:
        if _done:
            return
        trace.start(device().default_stream)
        trace.recorder.flush, trace.recorder.check, trace.recorder.gate = flush.flush, limits.check, limits.gate
        register_optimizer_step_post_hook(limits.after_step)
        compiler.set_host_executor(host.run_in_memory)
        compiler.expect_compiles()
        doors.take_down()
        register_all()
        forward_ad.install()
        patches.install()
        storage_methods.install()
        autocast.register()
        _measure()
        _done = True


def _measure() -> None:
    """Give the metrics their readings of the trace and of memory."""
    allocator = device().allocator
    metrics.gauge("live_nodes", _live_nodes)
    metrics.gauge(
        "peak_bytes", lambda: allocator.memory_stats()["allocated_bytes.all.peak"], allocator.stats.reset_peak
    )


def _live_nodes() -> int:
    traces = {*trace.recorder.traces.values(), *trace.recorder.parked}
    return sum(pending.nodes for pending in traces if not pending.done)
