"""Writes whose order matters: several elements of the target have one place, or some of the places that are
written belong to an operand too, but as other elements.

PyTorch leaves open what comes out, unless it refuses; programs have what its CPU kernels do, element after element. So
these run on the CPU (fallback.py), where the tensors share memory as they do here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from mlirdev.lazy.chain import Shape
from mlirdev.lazy.layouts import contiguous_stride
from mlirdev.lazy.storage import offset_of, span

# Elements up to which places are compared one by one; larger tensors overlap where their ranges do.
_EXACT = 1 << 22
_Place = tuple[Shape, Shape, int, int]  # size, stride, offset, bytes of an element


def order_matters(written: Sequence[Tensor], values: Sequence[Any], shapes: Sequence[Shape] | None = None) -> bool:
    """Does what comes out of writing these tensors depend on the order of the writes? `values` are all arguments;
    `shapes` are what the tensors are resized to."""
    for i, target in enumerate(written):
        if not target.is_contiguous() and _repeats(tuple(target.shape), target.stride()):
            return True
        storage = target.untyped_storage()
        for value in values:
            if value is target or not isinstance(value, (Tensor, list, tuple)):
                continue
            for other in (value,) if isinstance(value, Tensor) else tensors_in(value):
                if other is not target and other.untyped_storage() is storage:
                    shape = tuple(target.shape) if shapes is None else tuple(shapes[i])
                    if _conflict(target, shape, other):
                        return True
    return False


def _conflict(target: Tensor, shape: Shape, other: Tensor) -> bool:
    """Are parts of the target, once it has this shape, other elements of `other`?"""
    a, b = _place(target), _place(other)
    if shape != a[0]:
        a = shape, contiguous_stride(shape), a[2], a[3]
    return a != b and _meet(a, b)


def tensors_in(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def _place(tensor: Tensor) -> _Place:
    return tuple(tensor.shape), tensor.stride(), offset_of(tensor), tensor.itemsize


@lru_cache(maxsize=16384)
def _repeats(size: Shape, stride: Shape) -> bool:
    """Do two elements have the same place?"""
    dims = sorted((s, n) for n, s in zip(size, stride, strict=True) if n > 1)
    if 0 in size:
        return False
    reach = 0
    for step, count in dims:
        if step <= reach:
            break
        reach += step * (count - 1)
    else:
        return False
    count = torch.Size(size).numel()
    return count > _EXACT or bool((_uses((size, stride, 0, 1)) > 1).any())


@lru_cache(maxsize=16384)
def _meet(a: _Place, b: _Place) -> bool:
    """Do two tensors of one storage have a byte in common?"""
    (start_a, end_a), (start_b, end_b) = _range(a), _range(b)
    if end_a <= start_b or end_b <= start_a:
        return False
    if max(end_a, end_b) > _EXACT:
        return True
    length = max(end_a, end_b)
    return bool(((_uses(a, length) > 0) & (_uses(b, length) > 0)).any())


def _range(place: _Place) -> tuple[int, int]:
    size, stride, offset, itemsize = place
    return offset * itemsize, span(size, stride, offset) * itemsize


def _uses(place: _Place, length: int | None = None) -> Tensor:
    """How many elements have each byte."""
    size, stride, offset, itemsize = place
    if length is None:
        length = span(size, stride, offset) * itemsize
    places = torch.arange(length).as_strided((*size, itemsize), (*[s * itemsize for s in stride], 1), offset * itemsize)
    return torch.bincount(places.reshape(-1), minlength=length)
