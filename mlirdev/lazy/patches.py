"""Where PyTorch's own Python touches a tensor's memory, and ours has none to touch (decision 2).

Installed with the first device tensor. Each patch hands every other device to the original at once.

    repr        the values are formatted on one CPU copy, not by a dozen device ops
    copy.copy   shares memory all the same
    set_default_dtype         the results' dtypes that are remembered follow from it
    save, load, map_location  storages of ours are saved as their bytes, tagged with the device as CUDA's are, so that
                              tensors share them in the file too, and a file loads anywhere on the CPU

A storage's own methods are in storage_methods.py.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from mlirdev.lazy import overloads
from mlirdev.lazy.device import download, upload
from mlirdev.lazy.patching import replaces
from mlirdev.lazy.storage import DEVICE_TYPE, read
from mlirdev.lazy.storage_methods import pointed_at


def install() -> None:
    """Patch everything; once."""
    _patch_repr()
    _patch_copy()
    _patch_loading()
    _patch_default_dtype()


def _patch_repr() -> None:
    @replaces(torch._tensor_str, "_tensor_str")
    def _tensor_str(original: Any, self: Tensor, indent: int) -> Any:
        if self.device.type == DEVICE_TYPE:
            self = download(read(self), "print")
        return original(self, indent)


def _patch_copy() -> None:
    """`copy.copy`, which would go through the pickle: another tensor on the same memory."""

    def __copy__(self: Tensor) -> Any:
        if self.device.type != DEVICE_TYPE or type(self) is not Tensor:
            reconstruct: Any = copy._reconstruct  # type: ignore[attr-defined]
            return reconstruct(self, None, *self.__reduce_ex__(4))  # type: ignore[no-untyped-call]
        shared = torch.empty(0, dtype=self.dtype, device=self.device)
        shared.set_(self.untyped_storage(), self.storage_offset(), self.shape, self.stride())
        shared.__dict__.update(self.__dict__)
        return shared.requires_grad_(self.requires_grad)

    Tensor.__copy__ = __copy__  # type: ignore[attr-defined]


def _patch_default_dtype() -> None:
    for name in ("set_default_dtype", "set_default_tensor_type"):

        @replaces(torch, name)
        def set_default(original: Any, *args: Any, **kwargs: Any) -> Any:
            overloads.forget()
            return original(*args, **kwargs)


def _patch_loading() -> None:
    torch.serialization.register_package(5, _tag, _restore)


def _tag(storage: Any) -> str | None:
    """Where a saved storage was, for a file to say."""
    return f"{DEVICE_TYPE}:0" if storage.device.type == DEVICE_TYPE else None


def _restore(storage: Any, location: str) -> UntypedStorage | None:
    """A loaded CPU storage on our device, for `torch.load(map_location="mlirdev")`."""
    if location.partition(":")[0] != DEVICE_TYPE:
        return None
    if storage.device.type == DEVICE_TYPE:
        loaded: UntypedStorage = storage
        return loaded
    return pointed_at(upload(torch.empty(0, dtype=torch.uint8).set_(storage)))
