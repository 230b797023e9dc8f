"""`torch.mlirdev.amp`: autocast and GradScaler with the device filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from mlirdev.backend.devices import NAME


class autocast(torch.amp.autocast):
    """`torch.autocast("mlirdev")`; its dtype is PyTorch's for the device, f16 as on CUDA, unless one is given."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__(NAME, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("mlirdev")`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(NAME, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """`torch.amp.custom_fwd(device_type="mlirdev")`."""
    return torch.amp.custom_fwd(fwd, device_type=NAME, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any] | None = None) -> Any:
    """`torch.amp.custom_bwd(device_type="mlirdev")`."""
    return torch.amp.custom_bwd(bwd, device_type=NAME)
