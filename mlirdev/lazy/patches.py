"""Where PyTorch's own Python touches a tensor's memory, and ours has none to touch (decision 2).

Installed with the first device tensor. Each patch hands every other device to the original at once.

    repr        the values are formatted on one CPU copy, not by a dozen device ops
    pickle      a device tensor is saved as a CPU one, so a checkpoint loads without mlirdev
    set_default_dtype         the results' dtypes that are remembered follow from it
    map_location, deepcopy    storages of ours are made around a copied cell
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, UntypedStorage
from torch.storage import _StorageBase

from mlirdev.lazy import overloads
from mlirdev.lazy.device import download, upload
from mlirdev.lazy.storage import DEVICE_TYPE, read
from mlirdev.lazy.trace import Cell


def install() -> None:
    """Patch everything; once."""
    _patch_repr()
    _patch_pickle()
    _patch_storages()
    _patch_default_dtype()


def replaces(owner: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace a function by the decorated one, which takes the original before its arguments."""
    original = getattr(owner, name)

    def replace(patch: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def patched(*args: Any, **kwargs: Any) -> Any:
            return patch(original, *args, **kwargs)

        setattr(owner, name, patched)
        return patched

    return replace


def _patch_repr() -> None:
    @replaces(torch._tensor_str, "_tensor_str")
    def _tensor_str(original: Any, self: Tensor, indent: int) -> Any:
        if self.device.type == DEVICE_TYPE:
            self = download(read(self), "print")
        return original(self, indent)


def _patch_pickle() -> None:
    @replaces(Tensor, "_reduce_ex_internal")
    def _reduce_ex_internal(original: Any, self: Tensor, proto: int) -> Any:
        if self.device.type != DEVICE_TYPE or type(self) is not Tensor:
            return original(self, proto)
        cpu = self.detach().cpu()
        return (
            torch._utils._rebuild_device_tensor_from_cpu_tensor,
            (cpu, self.dtype, str(self.device), self.requires_grad),
        )


def _patch_default_dtype() -> None:
    for name in ("set_default_dtype", "set_default_tensor_type"):

        @replaces(torch, name)
        def set_default(original: Any, *args: Any, **kwargs: Any) -> Any:
            overloads.forget()
            return original(*args, **kwargs)


def _patch_storages() -> None:
    @replaces(_StorageBase, "clone")
    def clone(original: Any, self: Any) -> Any:
        if self.device.type != DEVICE_TYPE:
            return original(self)
        return _storage(self.cell.snapshot())

    torch.serialization.register_package(5, lambda storage: None, _restore)


def _restore(storage: Any, location: str) -> UntypedStorage | None:
    """A loaded CPU storage on our device, for `torch.load(map_location="mlirdev")`."""
    if location.partition(":")[0] != DEVICE_TYPE:
        return None
    if storage.device.type == DEVICE_TYPE:
        loaded: UntypedStorage = storage
        return loaded
    return _storage(upload(torch.empty(0, dtype=torch.uint8).set_(storage)))


# torch.load tells storages apart by their pointer. Nothing is ever read or written at these.
_pointers = itertools.count(1 << 44, 1 << 32)


def _storage(cell: Cell) -> UntypedStorage:
    """A storage of ours that holds `cell`, with a size and a pointer, as a loader expects."""
    device = torch.device(DEVICE_TYPE, 0)
    storage: Any = torch._C._construct_storage_from_data_pointer(next(_pointers), device, cell.layout.nbytes)
    storage.cell = cell
    loaded: UntypedStorage = storage
    return loaded
