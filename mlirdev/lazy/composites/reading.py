"""Values that a program decides by: `.item()` and bool, equal, allclose. Each waits for the device once."""

from __future__ import annotations

import torch
from torch import Tensor

from mlirdev.lazy.device import download, download_element
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.storage import cell_of, elements, offset_of, read

aten = torch.ops.aten


@handles("_local_scalar_dense")
def _local_scalar_dense(self: Tensor) -> float | int | bool | complex:
    """An element of a value that is there is read where it lies: no graph per element of `[x.item() for x in row]`."""
    cell, place = cell_of(self), offset_of(self)
    is_plain = self.dtype is cell.layout.dtype and not (self.is_conj() or self.is_neg())
    lies_there = is_plain and cell.layout.stride is None and place < elements(cell.layout)
    found = download_element(cell, place, "item") if lies_there else download(read(self), "item")
    value: float | int | bool | complex = found.item()
    return value


@handles("equal")
def equal(self: Tensor, other: Tensor) -> bool:
    if self.device != other.device:
        raise RuntimeError(f"Cannot compare two tensors on different devices. Got: {self.device} and {other.device}")
    if self.dtype is not other.dtype:
        return torch.equal(self.cpu(), other.cpu())
    return self.shape == other.shape and _holds((self == other).all(), "equal")


@handles("allclose")
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    return _holds(torch.isclose(self, other, rtol, atol, equal_nan).all(), "allclose")


def _holds(answer: Tensor, cause: str) -> bool:
    return bool(download(read(answer), cause).item())
