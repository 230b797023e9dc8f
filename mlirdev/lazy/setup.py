"""Turning the device on: with the first device tensor, not with `import torch`."""

from __future__ import annotations

import threading

import torch

# logs and metrics listen to events from when they are imported; `mlirdev` itself imports explain.
from mlirdev import compiler, logs, metrics  # noqa: F401
from mlirdev.lazy import flush, host, trace
from mlirdev.lazy.device import device
from mlirdev.lazy.register import register_all

_lock = threading.Lock()
_done = False


def ensure(doors: torch.library.Library | None = None) -> None:
    """Register with PyTorch and start recording, once per process; `doors` is what is registered until then."""
    global _done
    with _lock:
        if _done:
            return
        trace.start(device().default_stream, flush.flush, flush.check)
        compiler.set_host_executor(host.run_in_memory)
        if doors is not None:
            doors._destroy()
        register_all()
        _done = True
