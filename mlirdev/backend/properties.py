"""What the device is."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from mlirdev.backend.devices import NAME, DeviceArg, device_index
from mlirdev.lazy.device import device as the_device
from mlirdev.options import options, split_list
from mlirdev.target import Target, load_target


@dataclass(frozen=True)
class DeviceProperties:
    """`total_memory` is in bytes; `multi_processor_count` are the processor's cores; `target` is the chip that
    kernels are compiled for."""

    name: str
    total_memory: int
    multi_processor_count: int
    major: int
    minor: int
    target: Target


def get_device_properties(device: DeviceArg = None) -> DeviceProperties:
    device_index(device)
    major, minor = get_device_capability()
    return DeviceProperties(
        name=get_device_name(),
        total_memory=the_device().memory_bytes,
        multi_processor_count=os.cpu_count() or 1,
        major=major,
        minor=minor,
        target=_target(),
    )


def get_device_name(device: DeviceArg = None) -> str:
    device_index(device)
    return f"{NAME} ({_target().name})"


def _target() -> Target:
    return load_target(options.target, *split_list(options.target_set))


def get_device_capability(device: DeviceArg = None) -> tuple[int, int]:
    """The version of what the device can do; there is one so far."""
    device_index(device)
    return 1, 0


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The types that autocast may compute in."""
    return [torch.bfloat16, torch.float16, torch.float32]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return True
