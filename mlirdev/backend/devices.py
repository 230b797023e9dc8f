"""Naming the device: it is one, number 0."""

from __future__ import annotations

from typing import Any, TypeAlias

import torch

NAME = "mlirdev"

DeviceArg: TypeAlias = "torch.device | str | int | None"


def device_index(device: DeviceArg = None, optional: bool = True, allow_cpu: bool = False) -> int:
    """0 for anything that names the device; else the error that CUDA gives."""
    if device is None and not optional:
        raise ValueError("a device is wanted, not None")
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != NAME:
            raise ValueError(f"Expected a {NAME} device, but got: {device}")
        device = device.index
    if device not in (None, -1, 0):
        raise RuntimeError(f"invalid device ordinal {device}: {NAME} is one device, number 0")
    return 0


def is_available() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> int:
    return 0


def set_device(device: DeviceArg) -> None:
    device_index(device)


def exchange_device(device: int) -> int:
    """Switch to a device; the one before."""
    return device_index(device)


def maybe_exchange_device(device: int) -> int:
    return device_index(device)


class device:
    """Context manager that selects the device; there is only one to select."""

    def __init__(self, device: Any) -> None:
        self.idx = device_index(device)
        self.prev_idx = 0

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class device_of(device):
    """Context manager that selects a tensor's device; it does nothing for tensors that are elsewhere."""

    def __init__(self, obj: torch.Tensor) -> None:
        super().__init__(obj.device if obj.device.type == NAME else None)
