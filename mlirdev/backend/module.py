"""`torch.mlirdev`: what users of `torch.cuda` expect, and PyTorch itself.

Making it costs nothing: `import torch` does. A name is looked up in its home, below, when it is asked for;
what PyTorch asks for early (seeding, availability, fork) stands here or in light homes.
"""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

from mlirdev.backend.devices import (
    current_device,
    device,
    device_count,
    device_index,
    device_of,
    exchange_device,
    is_available,
    maybe_exchange_device,
    set_device,
)

_HOMES = {
    "streams": ("Stream Event stream current_stream default_stream set_stream get_raw_stream synchronize"),
    "memory": (
        "memory_stats memory_allocated max_memory_allocated memory_reserved max_memory_reserved mem_get_info "
        "empty_cache reset_peak_memory_stats reset_accumulated_memory_stats memory_snapshot memory_summary "
        "set_per_process_memory_fraction"
    ),
    "random": (
        "get_rng_state set_rng_state get_rng_state_all set_rng_state_all manual_seed manual_seed_all seed seed_all "
        "initial_seed default_generators"
    ),
    "properties": (
        "get_device_properties get_device_name get_device_capability get_amp_supported_dtype is_bf16_supported"
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
# Submodules of torch.mlirdev.
_MODULES = ("amp", "memory", "random", "streams")

__all__ = [
    "current_device",
    "device",
    "device_count",
    "device_index",
    "device_of",
    "exchange_device",
    "init",
    "is_available",
    "is_initialized",
    "maybe_exchange_device",
    "set_device",
]


def is_initialized() -> bool:
    """Has the device been used?"""
    setup = sys.modules.get("mlirdev.lazy.setup")
    return setup is not None and setup.is_done()


def init() -> None:
    """Do now what the first device tensor would do."""
    from mlirdev.lazy import setup

    setup.ensure()


_lazy_init = init
# Where torch looks a device's index up (torch.cuda._utils).
_utils = SimpleNamespace(_get_device_index=device_index)


def _is_in_bad_fork() -> bool:
    """Is this a fork of a process that uses the device?"""
    module = sys.modules.get("mlirdev.lazy.device")
    return module is not None and module.in_bad_fork()


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # torch.utils.checkpoint asks, and keeps the random state if so
        return is_initialized()
    if name in _MODULES:
        value: Any = importlib.import_module(f"mlirdev.backend.{name}")
    elif name in _HOME_OF:
        value = getattr(importlib.import_module(f"mlirdev.backend.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'torch.mlirdev' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_HOME_OF, *_MODULES})
