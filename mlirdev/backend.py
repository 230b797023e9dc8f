"""The device as PyTorch sees it: its name and its module `torch.mlirdev`.

`attach()` runs at the end of `import torch`, so it only names the device and loads nothing heavy: handlers,
patches and the compiler come with the first device tensor (`lazy.setup`), which `empty` and `empty_strided`
make. Until then these two are all that is registered.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "mlirdev"
_attached: list[bool] = []


class DeviceModule:
    """`torch.mlirdev`."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def set_device(self, device: object) -> None:
        pass

    def _is_in_bad_fork(self) -> bool:
        return False

    def device_count(self) -> int:
        return 1

    def manual_seed_all(self, seed: int) -> None:
        pass

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16, torch.float32]


def autoload() -> None:
    """`attach()`, but a device that can't be had is one line, and `import torch` goes on."""
    try:
        attach()
    except Exception as error:
        warnings.warn(f"device mlirdev isn't available: {error}", stacklevel=2)


def attach() -> None:
    """Name the device and give torch its module; once. Raises RuntimeError if another backend has the place."""
    if _attached:
        return
    holder = torch._C._get_privateuse1_backend_name()
    if holder not in ("privateuseone", NAME):
        raise RuntimeError(f"PyTorch has room for one out-of-tree device, and '{holder}' is in it; uninstall one of the two")
    _setup_privateuseone_for_python_backend(NAME, backend_module=DeviceModule())  # type: ignore[no-untyped-call]
    _wait_for_first_tensor()
    _attached.append(True)


def _wait_for_first_tensor() -> None:
    """Register the two ops that make the first device tensor, as doors to the real ones."""
    doors = torch.library.Library("aten", "IMPL")

    def door(op: Callable[..., Any]) -> Callable[..., Any]:
        def first(*args: Any, **kwargs: Any) -> Any:
            from mlirdev.lazy import setup

            setup.ensure(doors)
            return op(*args, **kwargs)

        return first

    for op in (torch.ops.aten.empty.memory_format, torch.ops.aten.empty_strided.default):
        doors.impl(op, door(op), "PrivateUse1")
