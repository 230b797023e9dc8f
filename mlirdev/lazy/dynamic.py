"""Dims that are known to vary before another size was seen: the program said so, or they vary in the graph that made
them.

    mark_dynamic ───────────┐
    a generalised launch ───┴─► Buffer.varying ─► the compiler, when a graph that reads the memory is new
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from mlirdev.compiler import Place
from mlirdev.graph import TensorSpec
from mlirdev.lazy.device import launch
from mlirdev.lazy.storage import DEVICE_TYPE, cell_of, is_whole
from mlirdev.runtime import Buffer


def mark_dynamic(tensor: Tensor, dim: int | Sequence[int]) -> None:
    """Say that these dims of a tensor's memory will have other sizes: graphs that read it are compiled for any of them,
    the first time already.

    Launches what the tensor's value needs. Sizes of 0 and 1 are compiled for themselves all the same. Raises
    ValueError for a tensor of another device and for a view of other memory, IndexError for a dim that it doesn't have.
    """
    if not isinstance(tensor, Tensor) or tensor.device.type != DEVICE_TYPE:
        where = tensor.device if isinstance(tensor, Tensor) else type(tensor).__name__
        raise ValueError(f"mark_dynamic takes a tensor of the device mlirdev, not of {where}; move it there first")
    cell = cell_of(tensor)
    if not is_whole(tensor, cell):
        raise ValueError("mark_dynamic takes a tensor with memory of its own, not a view; mark its base, or a clone()")
    rank = tensor.dim()
    dims = [dim] if isinstance(dim, int) else list(dim)
    for d in dims:
        if not -rank <= d < rank:
            bounds = f"[{-rank}, {rank - 1}]"
            raise IndexError(f"Dimension out of range (expected to be in range of {bounds}, but got {d})")
    add_varying(launch(cell, "mark"), [d % rank for d in dims])


def add_varying(buffer: Buffer, dims: Iterable[int]) -> None:
    buffer.varying = tuple(sorted({*buffer.varying, *dims}))


def marked_dims(inputs: Iterable[Buffer], specs: Sequence[TensorSpec]) -> list[Place]:
    """The dims of a graph's inputs that are known to vary."""
    return [
        (number, dim)
        for number, (buffer, spec) in enumerate(zip(inputs, specs, strict=True))
        for dim in buffer.varying
        if dim < len(spec.shape)
    ]


def varying_dims(spec: TensorSpec) -> tuple[int, ...]:
    """The dims of a generalised graph's value that aren't fixed."""
    return tuple(i for i, dim in enumerate(spec.shape) if not isinstance(dim, int))
