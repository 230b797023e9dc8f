"""Strides of results, as ATen allocates them; pure integer arithmetic.

The elementwise rule is TensorIterator's (`aten/src/ATen/TensorIterator.cpp`: fast setup, then dims sorted
by the operands' strides), not `torch._prims_common`'s, which differs from it in corners.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from mlirdev.lazy.specs.types import Meta, Shape, Strides


def numel(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    strides, step = [0] * len(shape), 1
    for i in range(len(shape) - 1, -1, -1):
        strides[i] = step
        step *= shape[i] or 1
    return tuple(strides)


def strides_of(meta: Meta) -> tuple[int, ...]:
    return contiguous_strides(meta.shape) if meta.stride is None else meta.stride


def normal(shape: Shape, strides: Sequence[int]) -> Strides:
    """The strides, or None if they are the contiguous ones."""
    result = tuple(strides)
    return None if result == contiguous_strides(shape) else result


def is_contiguous(meta: Meta) -> bool:
    """As ATen asks: strides of dims of size 1 don't matter, and an empty tensor is contiguous."""
    return meta.stride is None or _has_order(meta.shape, meta.stride, range(len(meta.shape) - 1, -1, -1))


def is_channels_last(meta: Meta, rank: int = 4) -> bool:
    """`tensor.is_contiguous(memory_format=channels_last)` (rank 4), or channels_last_3d (rank 5)."""
    if len(meta.shape) != rank:
        return False
    return _has_order(meta.shape, strides_of(meta), _channels_last_order(rank))


def _has_order(shape: Shape, strides: tuple[int, ...], innermost_first: Sequence[int]) -> bool:
    if 0 in shape:
        return True
    step = 1
    for i in innermost_first:
        if shape[i] != 1:
            if strides[i] != step:
                return False
            step *= shape[i]
    return True


def _channels_last_order(rank: int) -> tuple[int, ...]:
    return (1, *range(rank - 1, 1, -1), 0)


def is_dense(meta: Meta) -> bool:
    """`is_non_overlapping_and_dense`: contiguous under some order of its dims, or empty."""
    if meta.stride is None or 0 in meta.shape:
        return True
    shape, strides = meta.shape, meta.stride
    if len(shape) == 1:
        return shape[0] < 2 or strides[0] == 1
    # Dims of size 0 or 1 sort last: their strides don't matter.
    order = sorted(range(len(shape)), key=lambda i: (shape[i] < 2, strides[i]))
    step = 1
    for i in order:
        if shape[i] < 2:
            return True
        if strides[i] != step:
            return False
        step *= shape[i]
    return True


def ordered_strides(shape: Shape, innermost_first: Sequence[int]) -> Strides:
    """Dense strides with the dims in this order in memory (sizes 0 count as 1)."""
    strides, step = [0] * len(shape), 1
    for i in innermost_first:
        strides[i] = step
        step *= shape[i] or 1
    return normal(shape, strides)


def channels_last_strides(shape: Shape) -> Strides:
    """Strides of a channels-last tensor, or channels_last_3d for rank 5. Unlike elsewhere, a size 0 zeroes them."""
    return normal(shape, _compatible(shape, _channels_last_order(len(shape)), zero_is_one=False))


def suggested_format(meta: Meta) -> torch.memory_format:
    """`tensor.suggest_memory_format()`: channels_last if the strides say so beyond doubt."""
    rank = len(meta.shape)
    if meta.stride is None or rank not in (4, 5) or not _strides_like_channels_last(meta.shape, meta.stride):
        return torch.contiguous_format
    return torch.channels_last if rank == 4 else torch.channels_last_3d


def _strides_like_channels_last(shape: Shape, strides: tuple[int, ...]) -> bool:
    """ATen's `is_channels_last_strides_2d_s4`: ambiguous N111 and expanded channels count as contiguous."""
    if strides[1] == 0:
        return False
    least = 0
    for i in _channels_last_order(len(shape)):
        if shape[i] == 0 or strides[i] < least:
            return False
        if i == 0 and least == strides[1]:
            return False
        least = strides[i]
        if shape[i] > 1:
            least *= shape[i]
    return True


def format_strides(shape: Shape, memory_format: torch.memory_format) -> Strides:
    """Strides of a new tensor in this memory format (not preserve_format)."""
    if memory_format in (torch.channels_last, torch.channels_last_3d):
        return channels_last_strides(shape)
    return None


def suggested_strides(meta: Meta, shape: Shape) -> Strides:
    """Strides of a new tensor of `shape` in the format that `meta` suggests."""
    return None if meta.stride is None else format_strides(shape, suggested_format(meta))


def like_strides(meta: Meta) -> Strides:
    """Strides of `empty_like(meta)` with preserve_format: kept if dense, else sorted as an elementwise result."""
    if meta.stride is None:
        return None
    if is_dense(meta):
        return normal(meta.shape, meta.stride)
    return _infer_dense(meta.shape, meta.stride)


def _infer_dense(shape: Shape, strides: tuple[int, ...]) -> Strides:
    """ATen's `infer_dense_strides`: the same insertion sort, with overlapping dims left in place."""
    return normal(shape, _compatible(shape, _sorted_dims(shape, [strides], ties_by_size=True), zero_is_one=True))


def viewed_strides(old: Shape, strides: Shape, new: Shape) -> Shape | None:
    """ATen's `computeStride`: walks both shapes from the back, one memory-contiguous chunk at a time."""
    if 0 in old:
        return strides if old == new else contiguous_strides(new)
    result = [1] * len(new)
    at, base = len(new) - 1, strides[-1] if strides else 1
    chunk = filled = 1
    for i in range(len(old) - 1, -1, -1):
        chunk *= old[i]
        if i and (old[i - 1] == 1 or strides[i - 1] == chunk * base):
            continue
        while at >= 0 and (filled < chunk or new[at] == 1):
            result[at] = filled * base
            filled *= new[at]
            at -= 1
        if filled != chunk:
            return None
        if i:
            base, chunk, filled = strides[i - 1], 1, 1
    return tuple(result) if at < 0 else None


def elementwise_strides(shape: Shape, operands: Sequence[Meta]) -> Strides:
    """Strides of TensorIterator's new output of the broadcast `shape`."""
    if all(o.stride is None and (o.shape == shape or not o.shape) for o in operands) and 0 not in shape:
        return None
    if all(o.shape == shape for o in operands):
        known, strides = _fast_setup(shape, operands)
        if known:
            return strides
    rank = len(shape)
    if rank < 2:
        return None
    order = _sorted_dims(shape, [_broadcast_strides(o, shape) for o in operands], ties_by_size=True)
    if order == list(range(rank - 1, -1, -1)):
        return None
    return normal(shape, _compatible(shape, order, zero_is_one=False))


def _fast_setup(shape: Shape, operands: Sequence[Meta]) -> tuple[bool, Strides]:
    """Equal shapes: all contiguous, all channels-last, or all dense with the same strides; else (False, None)."""
    if all(map(is_contiguous, operands)):
        return True, None
    if all(map(is_channels_last, operands)):
        return True, channels_last_strides(shape)
    strides = strides_of(operands[0])
    if all(is_dense(o) and strides_of(o) == strides for o in operands):
        return True, normal(shape, strides)
    return False, None


def _broadcast_strides(meta: Meta, shape: Shape) -> tuple[int, ...]:
    lead = len(shape) - len(meta.shape)
    strides = strides_of(meta)
    kept = (
        0 if size == 1 and shape[lead + i] != 1 else stride
        for i, (size, stride) in enumerate(zip(meta.shape, strides, strict=True))
    )
    return (0,) * lead + tuple(kept)


def _sorted_dims(shape: Shape, operands: list[tuple[int, ...]], ties_by_size: bool) -> list[int]:
    """Dims from innermost to outermost: insertion sort where 0 means "no opinion", as TensorIterator does."""

    def compare(a: int, b: int) -> int:
        for strides in operands:
            x, y = strides[a], strides[b]
            if x == 0 or y == 0:
                continue
            if x != y:
                return -1 if x < y else 1
            if ties_by_size and shape[a] > shape[b]:
                return 1
        return 0

    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        hole = i
        for j in range(i - 1, -1, -1):
            verdict = compare(order[j], order[hole])
            if verdict > 0:
                order[j], order[hole] = order[hole], order[j]
                hole = j
            elif verdict < 0:
                break
    return order


def _compatible(shape: Shape, order: Sequence[int], zero_is_one: bool) -> list[int]:
    """Dense strides for dims in this order. TensorIterator lets a size 0 zero the strides after it."""
    strides, step = [0] * len(shape), 1
    for i in order:
        strides[i] = step
        step *= shape[i] or (1 if zero_is_one else 0)
    return strides
