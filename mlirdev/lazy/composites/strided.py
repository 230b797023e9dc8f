"""as_strided's copies: they look at the storage beside the tensor, so they follow from the storage's value."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from mlirdev.lazy.composites.aliasing import as_strided
from mlirdev.lazy.handlers import handles
from mlirdev.lazy.specs.checks import shown
from mlirdev.lazy.storage import cell_of, new_tensor, offset_of, read, relabelled


@handles("as_strided_copy")
def as_strided_copy(
    self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    return new_tensor(relabelled(read(as_strided(self, size, stride, storage_offset)), None))


@handles("as_strided_scatter")
def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of the storage, seen as self sees it, with `src` written through another view."""
    result = _copied(self)
    target = as_strided(result, size, stride, storage_offset)
    if target.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{shown(tuple(src.shape))}, slice size = {shown(tuple(target.shape))}"
        )
    target.copy_(src)
    return result


def _copied(tensor: Tensor) -> Tensor:
    if torch._debug_has_internal_overlap(tensor) == 1:
        return tensor.clone()
    count = cell_of(tensor).layout.nbytes // tensor.itemsize
    storage = new_tensor(relabelled(read(as_strided(tensor, (count,), (1,), 0)), None))
    copy: Tensor = as_strided(storage, tensor.shape, tensor.stride(), offset_of(tensor))
    return copy
