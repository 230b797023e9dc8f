"""`nn.DataParallel` on one device: PyTorch's own way is for CUDA alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import comm

from mlirdev.backend.devices import NAME, DeviceArg, device_index


def install() -> None:
    """Let `scatter` to our device be a copy to it. Whatever may be CUDA's is left to PyTorch."""
    original: Any = comm.scatter

    @functools.wraps(original)
    def scatter(tensor: Tensor, devices: Sequence[DeviceArg] | None = None, *args: Any, **kwargs: Any) -> Any:
        ours = tensor.device.type == NAME or (tensor.device.type == "cpu" and not torch.cuda.is_available())
        if devices is None or not ours:
            return original(tensor, devices, *args, **kwargs)
        (index,) = {device_index(device) for device in devices}
        return (tensor.to(torch.device(NAME, index)),)

    comm.scatter = scatter
