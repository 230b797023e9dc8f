"""`torch.accelerator` for the device: what PyTorch can't ask a device in Python for, asked here.

PyTorch takes an out-of-tree device for the accelerator wherever it is named, and its own functions then end in
errors: they want C++. Each of these hands on to PyTorch's own unless the accelerator is ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.accelerator import memory

from mlirdev.backend import module
from mlirdev.backend.devices import NAME, DeviceArg, device_index

_Function = Callable[..., Any]


def _capability(device: DeviceArg = None, /) -> dict[str, Any]:
    device_index(device)
    floats = {torch.float64, torch.float32, torch.float16, torch.bfloat16}
    integers = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool}
    return {"supported_dtypes": floats | integers | {torch.complex64, torch.complex128}}


def _on_module(name: str) -> _Function:
    """Ask torch.mlirdev, whose functions load what they need when they are called."""

    def ask(*args: Any) -> Any:
        return getattr(module, name)(*args)

    return ask


_ACCELERATOR: dict[str, _Function] = {
    "synchronize": _on_module("synchronize"),
    "current_stream": _on_module("current_stream"),
    "set_stream": _on_module("set_stream"),
    "get_device_capability": _capability,
}
_MEMORY: dict[str, _Function] = {
    "empty_cache": _on_module("empty_cache"),
    "empty_host_cache": lambda: None,  # pinned memory isn't kept
    "memory_stats": _on_module("memory_stats"),
    "memory_allocated": _on_module("memory_allocated"),
    "max_memory_allocated": _on_module("max_memory_allocated"),
    "memory_reserved": _on_module("memory_reserved"),
    "max_memory_reserved": _on_module("max_memory_reserved"),
    "reset_accumulated_memory_stats": _on_module("reset_accumulated_memory_stats"),
    "reset_peak_memory_stats": _on_module("reset_peak_memory_stats"),
    "get_memory_info": _on_module("mem_get_info"),
}


def install() -> None:
    """Put them in PyTorch's place, where it looks them up by name: `torch.accelerator` and its `memory`."""
    for name, ours in (_ACCELERATOR | _MEMORY).items():
        home = memory if name in _MEMORY else torch.accelerator
        replacement = _dispatching(getattr(home, name), ours)
        setattr(home, name, replacement)
        if hasattr(torch.accelerator, name):
            setattr(torch.accelerator, name, replacement)


def _dispatching(original: _Function, ours: _Function) -> _Function:
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        current = torch.accelerator.current_accelerator()
        return (ours if current is not None and current.type == NAME else original)(*args, **kwargs)

    return function
