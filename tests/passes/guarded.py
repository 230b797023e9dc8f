"""Tensors in memory where an access out of bounds ends the process, for kernels under test."""

from __future__ import annotations

import ctypes
import weakref

import torch

from mlirdev.runtime.guarded_memory import GuardedMemory

_memory = GuardedMemory()


def guarded(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a contiguous tensor with nothing behind it."""
    if not tensor.nbytes:
        return tensor
    address = _memory.reserve(tensor.nbytes)
    assert address
    memory = (ctypes.c_char * tensor.nbytes).from_address(address)
    weakref.finalize(memory, _memory.release, address)
    return torch.frombuffer(memory, dtype=tensor.dtype).view(tensor.shape).copy_(tensor)


def workspace(nbytes: int) -> torch.Tensor:
    return guarded(torch.empty(nbytes, dtype=torch.uint8))
