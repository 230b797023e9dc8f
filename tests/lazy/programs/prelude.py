"""What lines of programs call. Each side binds `device`."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

import mlirdev


def bound(device: str) -> dict[str, object]:
    """The names that a program starts with."""

    def make(shape: Sequence[int], dtype: torch.dtype, start: int) -> Tensor:
        """Small numbers, the same on each side."""
        count = torch.Size(shape).numel()
        values = (torch.arange(count) * 7 + start) % 17 - 8
        values = values.abs() if dtype is torch.uint8 else values
        return (values / 2 if dtype.is_floating_point else values).to(dtype).view(tuple(shape)).to(device, copy=True)

    return {
        "make": make,
        "torch": torch,
        "device": device,
        "resize": resize,
        "bytes_of": bytes_of,
        "sync": mlirdev.sync,
    }


def bytes_of(t: Tensor) -> Tensor:
    """The whole storage."""
    return torch.empty(0, dtype=torch.uint8, device=t.device).set_(t.untyped_storage())


def resize(t: Tensor, size: Sequence[int] | Tensor) -> None:
    """resize_ or resize_as_, with zeros where memory is new."""
    before = t.untyped_storage().nbytes()
    if isinstance(size, Tensor):
        t.resize_as_(size)
    else:
        t.resize_(tuple(size))
    with torch.no_grad():
        bytes_of(t)[before:] = 0
