"""`torch.mlirdev.memory`: what the device's memory holds. Amounts are in bytes.

They count launched work: a value that is only recorded has no memory yet.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mlirdev.backend.devices import DeviceArg, device_index
from mlirdev.lazy.device import device as the_device
from mlirdev.runtime.allocator import Allocator, format_bytes


def _allocator(device: DeviceArg) -> Allocator:
    device_index(device)
    the_device().check()
    return the_device().allocator


def memory_stats(device: DeviceArg = None) -> OrderedDict[str, Any]:
    """Counts by the names of `torch.cuda.memory_stats`: `allocated_bytes.all.peak` and so on."""
    return OrderedDict(sorted(_allocator(device).memory_stats().items()))


def memory_allocated(device: DeviceArg = None) -> int:
    """Bytes in use by tensors."""
    return _allocator(device).memory_stats()["allocated_bytes.all.current"]


def max_memory_allocated(device: DeviceArg = None) -> int:
    """The most bytes in use at once, since the start or `reset_peak_memory_stats`."""
    return _allocator(device).memory_stats()["allocated_bytes.all.peak"]


def memory_reserved(device: DeviceArg = None) -> int:
    """Bytes taken from the system: in use, or kept for reuse."""
    return _allocator(device).memory_stats()["reserved_bytes.all.current"]


def max_memory_reserved(device: DeviceArg = None) -> int:
    """The most bytes taken from the system at once."""
    return _allocator(device).memory_stats()["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: DeviceArg = None) -> None:
    """Let every peak be what is in use now."""
    _allocator(device).reset_peak()


def reset_accumulated_memory_stats(device: DeviceArg = None) -> None:
    """Start the counts of what was ever allocated and freed anew."""
    _allocator(device).reset_accumulated()


def mem_get_info(device: DeviceArg = None) -> tuple[int, int]:
    """Free bytes and all bytes of the device."""
    return _allocator(device).memory_info()


def empty_cache() -> None:
    """Give memory that no tensor uses back to the system."""
    _allocator(None).empty_cache()


def set_per_process_memory_fraction(fraction: float, device: DeviceArg = None) -> None:
    """Use at most this part of the device's memory."""
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    allocator = _allocator(device)
    allocator.limit = int(the_device().memory_bytes * fraction)


def memory_snapshot(device: DeviceArg = None) -> list[dict[str, Any]]:
    """Every piece of memory taken from the system: address, total_size, allocated_size, stream."""
    return _allocator(device).segments()


def memory_summary(device: DeviceArg = None, abbreviated: bool = False) -> str:
    """The statistics as a table for people."""
    stats = memory_stats(device)
    names = ["allocated_bytes", "requested_bytes", "reserved_bytes"]
    names += [] if abbreviated else ["allocation", "segment"]
    lines = [f"{'mlirdev memory':<18}{'now':>14}{'peak':>14}{'allocated':>14}{'freed':>14}"]
    for name in names:
        values = [stats[f"{name}.all.{key}"] for key in ("current", "peak", "allocated", "freed")]
        shown = [format_bytes(v) if name.endswith("bytes") else f"{v:,}" for v in values]
        lines.append(f"{name:<18}" + "".join(f"{text:>14}" for text in shown))
    free, total = mem_get_info(device)
    lines.append(f"free {format_bytes(free)} of {format_bytes(total)}; out of memory {stats['num_ooms']} times")
    return "\n".join(lines)
