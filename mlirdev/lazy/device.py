"""The device behind the tensors: made when the first one is, and copies to and from it."""

from __future__ import annotations

import time

import torch
from torch import Tensor

from mlirdev.errors import OutOfMemoryError
from mlirdev.events import Sync, emit
from mlirdev.guards import check_sync
from mlirdev.lazy.layouts import layout_of
from mlirdev.lazy.lines import here, source_line
from mlirdev.lazy.pinned import is_pinned
from mlirdev.lazy.trace import Cell, cell_of_buffer, current_stream, recorder
from mlirdev.options import options
from mlirdev.runtime import Buffer, Device, copy_from_host, copy_to_host


class DeviceOutOfMemoryError(OutOfMemoryError, torch.OutOfMemoryError):
    """Ours for those who know us, PyTorch's for code that catches that."""


_device: list[Device] = []


def device() -> Device:
    """The one device of this process."""
    if not _device:
        _device.append(Device(options.memory_mb << 20, DeviceOutOfMemoryError, options.guard_pages))
    return _device[0]


def in_bad_fork() -> bool:
    """Is this a fork of a process that uses the device?"""
    return any(made.in_bad_fork for made in _device)


def upload(tensor: Tensor, wait: bool = True) -> Cell:
    """A CPU tensor's contents, copied in the order of the current stream. Without `wait` memory that is pinned
    is read when the stream comes to it; what isn't has been read on return, as with CUDA."""
    wait = wait or not is_pinned(tensor)
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    stream = current_stream()
    buffer = device().allocator.allocate(tensor.nbytes, stream)
    if tensor.nbytes:
        copy_from_host(stream, buffer, tensor.data_ptr(), tensor.nbytes, keep=tensor, wait=wait)
    return cell_of_buffer(layout_of(tensor.shape, tensor.dtype), buffer)


def launch(cell: Cell, cause: str) -> Buffer:
    """The memory of the cell's value, which is launched if it is pending."""
    if cell.buffer is None:
        assert cell.trace is not None
        recorder.flush(cell.trace, cause)
    assert cell.buffer is not None
    return cell.buffer


def download(cell: Cell, cause: str, wait: bool = True, into: Tensor | None = None) -> Tensor:
    """The cell's value as a new CPU tensor, row-major, or in the memory of `into`.

    Raises the error of the work that should have made it. Without `wait` the value is there, and such an error is
    raised, once the current stream has been waited for.
    """
    result = torch.empty(cell.layout.shape, dtype=cell.layout.dtype) if into is None else into
    _fetch(cell, cause, result, 0, wait)
    return result


def download_element(cell: Cell, index: int, cause: str) -> Tensor:
    """One element of the cell's value, counted row by row, as a 0-d CPU tensor; the others stay where they are."""
    result = torch.empty((), dtype=cell.layout.dtype)
    _fetch(cell, cause, result, index * cell.layout.dtype.itemsize, wait=True)
    return result


def _fetch(cell: Cell, cause: str, target: Tensor, offset: int, wait: bool) -> None:
    """Fill the CPU tensor `target` with what the cell's memory has from byte `offset` on."""
    where = source_line(here()) if wait else None
    if wait:
        check_sync(cause, where)
    buffer = launch(cell, "value")
    start = time.perf_counter()
    if target.nbytes:
        copy_to_host(current_stream(), buffer, target.data_ptr(), target.nbytes, offset, keep=target, wait=wait)
    elif wait:
        buffer.check()
    if wait:
        emit(Sync(where=where, cause=cause, seconds=time.perf_counter() - start))
