"""A storage's own methods, and pointers: PyTorch's C++ sees no memory behind our storages.

    nbytes(), copy_(), tolist(), resize_(), …   answered by the storage's cell, or a tensor of its bytes
    data_ptr()                                  an address that belongs to the storage alone, and holds nothing
    DLPack, other processes, raw memory         refused, with the remedy

A value moves whenever it is written, so no address of memory can stand for a storage. Each gets one on the
side instead, where no process has memory: programs that tell tensors apart or find sharing by their pointers are
right, and whoever reads there is stopped at once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch import Tensor, UntypedStorage

from mlirdev.errors import UnsupportedError
from mlirdev.lazy import resizing
from mlirdev.lazy.patching import replaces
from mlirdev.lazy.storage import DEVICE_TYPE, offset_of
from mlirdev.lazy.trace import Cell

Method = Callable[..., Any]
# x86-64 and AArch64 have nothing between 2^47 and 2^64 - 2^47.
_PAGE = 512
_ANY_SIZE = 1 << 60  # C++ can't resize a storage that wasn't made by an allocator
_next_address = 1 << 48
_lock = threading.Lock()
_METHODS: dict[str, Method] = {}
_REFUSED = {
    "_byteswap": "byte order can be changed",
    "_resize_with_addr_": "memory can be replaced",
    "_share_cuda_": "memory can be shared with another process",
    "_shared_incref": "memory can be shared with another process",
    "_share_fd_cpu_": "memory can be shared with another process",
    "_share_filename_cpu_": "memory can be shared with another process",
    "_swap_data_ptr_": "memory can be exchanged",
}


def install() -> None:
    """Patch everything; once."""
    for name, ours in [*_METHODS.items(), *((name, _refusal(what)) for name, what in _REFUSED.items())]:
        _patch(name, ours)
    _patch_pointers()
    _patch_exports()


def _patch(name: str, ours: Method) -> None:
    original = getattr(UntypedStorage, name)

    @functools.wraps(original)
    def patched(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = original if getattr(self, "cell", None) is None else ours
        return function(self, *args, **kwargs)

    setattr(UntypedStorage, name, patched)


def _refusal(what: str) -> Method:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"only a CPU storage's {what}; copy this one of device {DEVICE_TYPE} with .cpu() first")

    return refuse


def method(function: Method) -> Method:
    """What a device storage does where the function's name is called."""
    _METHODS[function.__name__] = function
    return function


# --- size and place ----------------------------------------------------------------------------------


@method
def nbytes(self: Any) -> Any:
    return self.cell.layout.nbytes


@method
def __len__(self: Any) -> Any:
    return self.cell.layout.nbytes


@method
def data_ptr(self: Any) -> int:
    """Another address once the storage has outgrown the old one's room, as on the CPU."""
    size = nbytes(self)
    if not size:
        return 0
    address, room = getattr(self, "place", (0, 0))
    if size > room:
        address, room = _new_place(size)
        self.place = address, room
    return int(address)


def _new_place(size: int) -> tuple[int, int]:
    """An address that nobody had before, and the bytes that belong to it."""
    global _next_address
    room = -(-size // _PAGE) * _PAGE
    with _lock:
        address = _next_address
        _next_address += room
    return address, room


@method
def resize_(self: Any, size: int) -> Any:
    resizing.resize(self.cell, size)
    return self


# --- elements ----------------------------------------------------------------------------------------


def bytes_of(storage: Any) -> Tensor:
    """A device storage's bytes as a tensor on it."""
    return torch.empty(0, dtype=torch.uint8, device=DEVICE_TYPE).set_(storage)


@method
def cpu(self: Any) -> UntypedStorage:
    return bytes_of(self).cpu().untyped_storage()


@method
def tolist(self: Any) -> list[int]:
    values: list[int] = bytes_of(self).tolist()
    return values


@method
def __iter__(self: Any) -> Iterator[int]:
    return iter(tolist(self))


@method
def __getitem__(self: Any, index: Any) -> int:
    if isinstance(index, slice):
        raise UnsupportedError(
            f"a part of a storage can't be a storage on device {DEVICE_TYPE}; "
            "make a tensor on it (torch.Tensor.set_) and slice that, or copy the storage with .cpu()"
        )
    value: int = cpu(self)[index]
    return value


@method
def __setitem__(self: Any, index: Any, value: int) -> None:
    bytes_of(self)[index] = value


@method
def fill_(self: Any, value: int) -> Any:
    bytes_of(self).fill_(value)
    return self


@method
def __repr__(self: Any) -> str:
    return repr(cpu(self)).replace("device=cpu", f"device={self.device}")


@method
def __str__(self: Any) -> Any:
    return repr(self)


# --- copies ------------------------------------------------------------------------------------------


def create(*args: Any) -> UntypedStorage:
    """`torch.UntypedStorage(…, device="mlirdev")`: of so many bytes, or of these."""
    content = args[0] if args else 0
    if isinstance(content, int):
        return torch.empty(content, dtype=torch.uint8, device=DEVICE_TYPE).untyped_storage()
    return torch.tensor(list(content), dtype=torch.uint8).to(DEVICE_TYPE).untyped_storage()


@method
def clone(self: Any) -> UntypedStorage:
    return pointed_at(self.cell.snapshot())


@method
def new(self: Any) -> UntypedStorage:
    return create()


@method
def resizable(self: Any) -> bool:
    return True


@method
def _set_from_file(self: Any, *args: Any) -> Any:
    content: Any = UntypedStorage(nbytes(self))  # type: ignore[no-untyped-call]
    content._set_from_file(*args)
    self.copy_(content)
    return self


@method
def _write_file(self: Any, *args: Any) -> Any:
    return cpu(self)._write_file(*args)


def pointed_at(cell: Cell) -> UntypedStorage:
    """A new storage of ours that holds `cell`, with a pointer, and room for any tensor, that C++ sees too."""
    place = _new_place(max(cell.layout.nbytes, 1))
    storage: Any = torch._C._construct_storage_from_data_pointer(place[0], torch.device(DEVICE_TYPE, 0), _ANY_SIZE)
    storage.cell, storage.place = cell, place
    made: UntypedStorage = storage
    return made


def _on_cpu(storage: Any) -> Tensor:
    return torch.empty(0, dtype=torch.uint8).set_(storage)


def _patch_pointers() -> None:
    @replaces(UntypedStorage, "copy_")
    def copy_(original: Any, self: Any, source: Any, non_blocking: Any = None) -> Any:
        ours = [getattr(s, "cell", None) is not None for s in (self, source)]
        if not any(ours):
            return original(self, source, non_blocking)
        if self.nbytes() != source.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        target, values = [bytes_of(s) if mine else _on_cpu(s) for s, mine in zip((self, source), ours, strict=True)]
        target.copy_(values, non_blocking=bool(non_blocking))
        return self

    @replaces(Tensor, "data_ptr")
    def data_ptr_of_tensor(original: Any, self: Tensor) -> int:
        storage = self.untyped_storage() if self.device.type == DEVICE_TYPE else None
        if getattr(storage, "cell", None) is None:
            address: int = original(self)
            return address
        return data_ptr(storage) + offset_of(self) * self.itemsize if self.numel() else 0


def _patch_exports() -> None:
    for owner, name in ((Tensor, "__dlpack__"), (Tensor, "__dlpack_device__"), (torch.utils.dlpack, "to_dlpack")):

        @replaces(owner, name)
        def export(original: Any, self: Tensor, *args: Any, **kwargs: Any) -> Any:
            if self.device.type != DEVICE_TYPE:
                return original(self, *args, **kwargs)
            raise BufferError(
                f"a tensor on device {DEVICE_TYPE} can't be exported through DLPack, since its memory changes "
                "place; use tensor.cpu(), which other libraries can read"
            )

    for kind in (Tensor, torch.nn.Parameter, UntypedStorage):
        ForkingPickler.register(kind, _sent(ForkingPickler._extra_reducers[kind]))  # type: ignore[attr-defined]


def _sent(original: Method) -> Method:
    def reduce(value: Any) -> Any:
        if value.device.type != DEVICE_TYPE:
            return original(value)
        raise RuntimeError(
            f"what is on device {DEVICE_TYPE} can't be sent to another process, since its memory belongs to this "
            "one; send tensor.cpu(), and move it to the device there"
        )

    return reduce
