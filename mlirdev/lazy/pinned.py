"""Pinned host memory: ordinary memory with a mark, which says that a copy may read or write it later.

The mark is an attribute of the CPU storage's Python object, which views share. Another device's pinned memory
stays PyTorch's own business: its kernels are reached through a key that nobody has overridden. Registered with
`import torch`, as programs pin batches before they have any device tensor.
"""

from __future__ import annotations

import torch
from torch import Tensor

_DEVICE_TYPE = "mlirdev"
_MARK = "mlirdev_pinned"
_libraries: list[torch.library.Library] = []
# The composite kernels of _pin_memory and is_pinned are behind every key without a kernel of its own.
_ORIGINAL = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse3)


def register() -> None:
    """Answer for CPU tensors, where pinning asks for the accelerator or for this device by name."""
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    library.impl("is_pinned", _is_pinned, "CPU")  # type: ignore[no-untyped-call]
    library.impl("_pin_memory", _pin_memory, "CPU")  # type: ignore[no-untyped-call]
    _libraries.append(library)


def is_pinned(tensor: Tensor) -> bool:
    """Is this a CPU tensor that may be copied from or to later?"""
    return tensor.device.type == "cpu" and hasattr(tensor.untyped_storage(), _MARK)


def mark(tensor: Tensor) -> Tensor:
    """Count a CPU tensor's memory as pinned."""
    setattr(tensor.untyped_storage(), _MARK, True)
    return tensor


def _is_pinned(self: Tensor, device: torch.device | None = None) -> bool:
    if _is_ours(device):
        return is_pinned(self)
    return bool(torch.ops.aten.is_pinned.default.redispatch(_ORIGINAL, self, device))


def _pin_memory(self: Tensor, device: torch.device | None = None) -> Tensor:
    if _is_ours(device):
        return mark(self.clone())
    result: Tensor = torch.ops.aten._pin_memory.default.redispatch(_ORIGINAL, self, device)
    return result


def _is_ours(device: torch.device | None) -> bool:
    # Without a device PyTorch means the accelerator, which an out-of-tree device is wherever there is one.
    return device is None or device.type == _DEVICE_TYPE
